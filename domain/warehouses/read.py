"""Queryable fields of warehouses: visibility, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable

from domain.filters import exact, exact_second, ids, optional_references, references, sorts, statuses
from domain.visibility import VisibleRows
from kernel.documents import normalize_cep
from kernel.geography import state_of_cep
from kernel.text import fold
from models.reading.queries import Condition, Entity, EntityFilter, Sort

_ADMIN = ("view_warehouses",)
_APP = "read_inventory"


def covers(cep: str) -> Condition:
    """Match warehouses with an active area that contains the CEP.

    An area is matched by its most precise data: CEP ranges, else cities (never matched by a CEP alone), else states; an area without any is
    everywhere.
    """
    digits = normalize_cep(cep)
    if digits is None:
        return Condition("false")
    return Condition(
        "EXISTS (SELECT 1 FROM warehouse_areas a WHERE a.tenant_id = t.tenant_id AND a.warehouse_id = t.id AND a.status = 'A'"
        " AND CASE WHEN EXISTS (SELECT 1 FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id)"
        " THEN EXISTS (SELECT 1 FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id"
        " AND z.first_cep <= {} AND z.last_cep >= {})"
        " ELSE cardinality(a.cities) = 0 AND (cardinality(a.states) = 0 OR {}::text = ANY(a.states)) END)",
        (int(digits), int(digits), state_of_cep(digits)),
    )


def _folded_match(column: str) -> Callable[[object], Condition]:
    """Match a name ignoring case and accents."""

    def build(value: object) -> Condition:
        values = value if isinstance(value, list) else [value]
        return Condition(f"vitrine_fold({column}) = ANY({{}}::text[])", ([fold(str(item)) for item in values],))

    return build


WAREHOUSES = Entity(
    table="warehouses",
    visible=VisibleRows(admin=_ADMIN, app=_APP, vendor="t.vendor_id = {company}"),
    filters={
        "id": ids("warehouses"),
        "status": statuses(),
        "vendor_id": optional_references("vendors", "of any of these vendors; 0 means of the store itself"),
        "owner_id": optional_references(
            "vendors", "of any of these vendors; 0 means of the store itself", internal=True
        ),
        "state": EntityFilter("text", _folded_match("t.state"), "in any of these states", many=True),
        "city": EntityFilter("text", _folded_match("t.city"), "in any of these cities", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Condition(
                "strpos(t.name_folded, {}::text) > 0 OR strpos(vitrine_fold(t.code), {}::text) > 0"
                " OR strpos(vitrine_fold(t.city), {}::text) > 0",
                (fold(text.strip()),) * 3,
            ),
            "part of the name, code or city",
        ),
        "covers_zipcode": EntityFilter("text", covers, "delivers to this CEP"),
        **exact("boolean", is_default="whether it is its vendor's default"),
        **exact("text", "name", "code"),
        **exact("text", "description", "address", "country", "phone", "email", "latitude", "longitude", internal=True),
        **exact("big_int", "priority", "shipping_delay", "min_items_in_box", "max_items_in_box", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
        "updated_at": exact_second("t.updated_at", "updated within that second"),
    },
    sorts={**sorts("priority"), "name": Sort("t.name_folded", "text", "name"), **sorts("created_at", "id")},
    default_sort="-priority",
)

# A vendor sees the areas and groups of its own warehouses.
_OF_OWN = (
    "EXISTS (SELECT 1 FROM warehouses w WHERE w.tenant_id = t.tenant_id AND w.id = t.warehouse_id"
    " AND w.vendor_id = {company} AND w.deleted_at IS NULL)"
)
_WAREHOUSE_EXISTS = "EXISTS (SELECT 1 FROM warehouses w WHERE w.tenant_id = t.tenant_id AND w.id = t.warehouse_id AND w.deleted_at IS NULL)"

WAREHOUSE_AREAS = Entity(
    label="delivery area",
    table="warehouse_areas",
    base_condition=_WAREHOUSE_EXISTS,
    visible=VisibleRows(admin=_ADMIN, app=_APP, vendor=_OF_OWN),
    filters={
        "id": ids("areas"),
        "warehouse_id": references("warehouses", "of any of these warehouses"),
        "status": statuses(),
        **exact("text", "name"),
    },
    sorts=sorts("id"),
)

WAREHOUSE_ZIPCODES = Entity(
    table="warehouse_zipcodes",
    # Reached only through an area, whose rows are already filtered.
    visible=VisibleRows(admin=_ADMIN, app=_APP, vendor=""),
)

WAREHOUSE_USERGROUPS = Entity(
    label="usergroup of a warehouse",
    table="warehouse_usergroups",
    base_condition=_WAREHOUSE_EXISTS,
    visible=VisibleRows(admin=_ADMIN, app=_APP, vendor=_OF_OWN),
    filters={
        "id": ids("assignments"),
        "warehouse_id": references("warehouses", "of any of these warehouses"),
        "usergroup_id": references("usergroups", "of any of these groups"),
        "status": statuses(),
    },
    sorts=sorts("id"),
)

_OF_OWN_PRODUCT = "EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id AND p.vendor_id = {company})"

WAREHOUSE_STOCK = Entity(
    label="stock of a warehouse",
    table="warehouse_stock",
    # Reached only through a product or combination, whose rows are already filtered.
    visible=VisibleRows(
        admin=("view_products", "view_catalog"), app="read_products", vendor=f"{_OF_OWN} AND {_OF_OWN_PRODUCT}"
    ),
)
