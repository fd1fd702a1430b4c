"""Declare what of warehouses can be read."""

from __future__ import annotations

from collections.abc import Callable

from domain.catalog.read import in_second, refers_to_or_none
from domain.visibility import Rows
from kernel.documents import normalise_cep
from kernel.places import state_of_cep
from models.reading import Entity, EntityFilter, Sort, Where, any_of, flag, named, refers_to

_ADMIN = ("view_warehouses",)
_APP = "read_inventory"


def covers(cep: str) -> Where:
    """Match warehouses one of whose active areas holds the CEP.

    The most precise of what an area says decides: ranges of postal codes, else cities (of which a CEP alone tells nothing), else
    states; an area without any of them is everywhere.
    """
    digits = normalise_cep(cep)
    if digits is None:
        return Where("false")
    return Where(
        "EXISTS (SELECT 1 FROM warehouse_areas a WHERE a.tenant_id = t.tenant_id AND a.warehouse_id = t.id AND a.status = 'A'"
        " AND CASE WHEN EXISTS (SELECT 1 FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id)"
        " THEN EXISTS (SELECT 1 FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id"
        " AND z.first_cep <= {} AND z.last_cep >= {})"
        " ELSE cardinality(a.cities) = 0 AND (cardinality(a.states) = 0 OR {}::text = ANY(a.states)) END)",
        (int(digits), int(digits), state_of_cep(digits)),
    )


def _place(column: str) -> Callable[[object], Where]:
    """Match a place's name whatever its case and accents."""

    def build(value: object) -> Where:
        values = value if isinstance(value, list) else [value]
        return Where(
            f"vitrine_fold({column}) = ANY(SELECT vitrine_fold(x) FROM unnest({{}}::text[]) AS x)", (values,)
        )

    return build


WAREHOUSES = Entity(
    name="warehouse",
    table="warehouses",
    alive="t.deleted_at IS NULL",
    visible=Rows(admin=_ADMIN, app=_APP, vendor="t.vendor_id = {company}"),
    filters={
        "id": EntityFilter("id", named, "any of these warehouses", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "vendor_id": EntityFilter(
            "id", refers_to("t.vendor_id", "vendors"), "of any of these vendors", many=True
        ),
        "owner_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means of the store itself",
            many=True,
            internal=True,
        ),
        "state": EntityFilter("text", _place("t.state"), "in any of these states", many=True),
        "city": EntityFilter("text", _place("t.city"), "in any of these cities", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where(
                "strpos(t.name_folded, vitrine_fold({}::text)) > 0 OR strpos(vitrine_fold(t.code), vitrine_fold({}::text)) > 0"
                " OR strpos(vitrine_fold(t.city), vitrine_fold({}::text)) > 0",
                (text.strip(), text.strip(), text.strip()),
            ),
            "part of the name, code or city",
        ),
        "covers_zipcode": EntityFilter("text", covers, "delivers to this CEP"),
        "is_default": EntityFilter("boolean", flag("t.is_default"), "whether it is its vendor's default"),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "code": EntityFilter("text", any_of("t.code"), "exact code", many=True),
        **{
            name: EntityFilter("text", any_of(f"t.{name}"), f"exact {name}", many=True, internal=True)
            for name in ("description", "address", "country", "phone", "email", "latitude", "longitude")
        },
        **{
            name: EntityFilter(
                "big_int", any_of(f"t.{name}", "bigint"), f"exact {name}", many=True, internal=True
            )
            for name in ("priority", "shipping_delay", "min_items_in_box", "max_items_in_box")
        },
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "made in that second", many=True, internal=True
        ),
        "updated_at": EntityFilter(
            "time", in_second("t.updated_at"), "changed in that second", many=True, internal=True
        ),
    },
    sorts={
        "priority": Sort("t.priority", "bigint", "priority"),
        "name": Sort("t.name_folded", "text", "name"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-priority",
)

# A vendor sees what hangs on its own warehouses.
_OF_OWN = (
    "EXISTS (SELECT 1 FROM warehouses w WHERE w.tenant_id = t.tenant_id AND w.id = t.warehouse_id"
    " AND w.vendor_id = {company} AND w.deleted_at IS NULL)"
)
_BELOW = "EXISTS (SELECT 1 FROM warehouses w WHERE w.tenant_id = t.tenant_id AND w.id = t.warehouse_id AND w.deleted_at IS NULL)"
_SORTS = {
    "id": Sort("t.id", "bigint", "order of entry"),
}

WAREHOUSE_AREAS = Entity(
    name="delivery area",
    table="warehouse_areas",
    alive=_BELOW,
    visible=Rows(admin=_ADMIN, app=_APP, vendor=_OF_OWN),
    filters={
        "id": EntityFilter("id", named, "any of these areas", many=True),
        "warehouse_id": EntityFilter(
            "id", refers_to("t.warehouse_id", "warehouses"), "of any of these warehouses", many=True
        ),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
    },
    sorts=_SORTS,
    default_sort="id",
)

WAREHOUSE_ZIPCODES = Entity(
    name="range of postal codes",
    table="warehouse_zipcodes",
    # Reached only through an area, whose rows were filtered already.
    visible=Rows(admin=_ADMIN, app=_APP, vendor=""),
)

WAREHOUSE_USERGROUPS = Entity(
    name="usergroup of a warehouse",
    table="warehouse_usergroups",
    alive=_BELOW,
    visible=Rows(admin=_ADMIN, app=_APP, vendor=_OF_OWN),
    filters={
        "id": EntityFilter("id", named, "any of these places", many=True),
        "warehouse_id": EntityFilter(
            "id", refers_to("t.warehouse_id", "warehouses"), "of any of these warehouses", many=True
        ),
        "usergroup_id": EntityFilter(
            "id", refers_to("t.usergroup_id", "usergroups"), "of any of these groups", many=True
        ),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
    },
    sorts=_SORTS,
    default_sort="id",
)
