"""The readable entities of orders: rows visible per caller, filters and sort orders.

A vendor sees orders with lines of its own; of a multi-vendor order only these lines, and their sum as the total.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from domain.filters import (
    created_range,
    exact,
    exact_second,
    exact_value,
    ids,
    optional_references,
    references,
    sorts,
    statuses,
    substring,
)
from domain.order_access import AMOUNTS, CHECKOUT, TRACKING_CODE
from domain.orders.transitions import allowed_sql
from domain.visibility import ORDER_OF_VENDOR, SHIPMENT_OF_VENDOR, VisibleRows, published
from kernel.scope import ActorKind, Scope
from kernel.text import fold
from models.reading.queries import (
    Condition,
    Entity,
    EntityFilter,
    Sort,
    any_of,
    by_ids,
    compares,
    flag,
    has_any_id,
    refers_to,
)

_VENDOR_ORDERS = (
    "(t.vendor_id = {company} OR EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.order_id = t.id"
    " AND ol.vendor_id = {company}))"
)


def fiscal_sql(name: str) -> str:
    """Return the expression of a member of an order's fiscal data (`domain.orders.fiscal`), a text or null."""
    return f"(t.fields_data ->> '{name}')"


def _total_filter(operator: str, description: str) -> EntityFilter:
    def build_for(scope: Scope, value: object) -> Condition:
        amount = AMOUNTS["total_cents"](scope)
        return Condition(f"{amount.sql} {operator} {{}}", (*amount.params, value))

    return EntityFilter("cents", compares("t.total_cents", operator), description, build_for=build_for)


def _exact_amounts(*names: str) -> dict[str, EntityFilter]:
    def build_for(name: str) -> Callable[[Scope, object], Condition]:
        def build(scope: Scope, value: object) -> Condition:
            amount = AMOUNTS[name](scope)
            values = value if isinstance(value, list) else [value]
            return Condition(f"{amount.sql} = ANY({{}}::bigint[])", (*amount.params, values))

        return build

    return {
        name: replace(declared, build_for=build_for(name))
        for name, declared in exact("cents", *names, internal=True).items()
    }


def _amount_sort(name: str, description: str) -> Sort:
    return Sort(f"t.{name}", "bigint", description, sql_for=AMOUNTS[name])


def _has_vendor(scope: Scope, value: object) -> Condition:
    """Match orders with lines of any of the vendors; a vendor only learns of its own."""
    condition = _vendor(value)
    if scope.actor.kind is not ActorKind.VENDOR:
        return condition
    values = value if isinstance(value, list) else [value]
    is_own = refers_to("v.id", "vendors")(values)
    return Condition(
        f"EXISTS (SELECT 1 FROM vendors v WHERE v.tenant_id = {{tenant}} AND v.id = {{}}::bigint AND ({is_own.sql}))",
        (scope.actor.vendor_id, *is_own.params),
    )


def _vendor(value: object) -> Condition:
    own = refers_to("t.vendor_id", "vendors")(value)
    lines = refers_to("ol.vendor_id", "vendors")(value)
    return Condition(
        f"({own.sql}) OR EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.order_id = t.id"
        f" AND ({lines.sql}))",
        (*own.params, *lines.params),
    )


def _with_address(kind: str, expression: str) -> Callable[[object], Condition]:
    """Match orders by their billing (`B`) or shipping (`S`) address; `expression` refers to the address as `a`."""
    matches = any_of(expression)

    def build(value: object) -> Condition:
        condition = matches(value)
        return Condition(
            "EXISTS (SELECT 1 FROM order_addresses a WHERE a.tenant_id = t.tenant_id AND a.order_id = t.id"
            f" AND a.kind = '{kind}' AND {condition.sql})",
            condition.params,
        )

    return build


# The two-line form of an address.
_ADDRESS_EXPRESSIONS = {
    **{name: f"a.{name}" for name in ("firstname", "lastname", "city", "state", "country", "zipcode", "phone")},
    "line_1": "concat_ws(', ', nullif(a.street, ''), nullif(a.number, ''))",
    "line_2": "concat_ws(', ', nullif(a.complement, ''), nullif(a.district, ''))",
}
DELIVERY_TIME = """coalesce(t.delivery_time, (SELECT m.delivery_time FROM shipping_methods m
    WHERE m.tenant_id = t.tenant_id AND m.id = t.shipping_method_id), '')"""
"""The expression of the delivery time quoted for an order; of one from before it was stored, its shipping method's."""
ORDER_LANGUAGE = "coalesce((SELECT l.code FROM languages l WHERE l.tenant_id = t.tenant_id AND l.status = 'A' ORDER BY l.id LIMIT 1), 'pt')"
"""The expression of an order's language: the store's first active one."""
ORDER_INVOICE = "coalesce(t.fields_data ->> 'nota_fiscal', '')"
"""The expression of the number of an order's invoice."""
_ADDRESS_FILTERS = {
    f"{name}_{member}": EntityFilter(
        "text", _with_address(kind, expression), f"exact {member} of the {name} address", many=True, internal=True
    )
    for name, kind in (("billing", "B"), ("shipping", "S"))
    for member, expression in _ADDRESS_EXPRESSIONS.items()
}


def _has_shipment(scope: Scope, value: object) -> Condition:
    """Match orders with any of the shipments; a vendor only learns of those with lines of its own."""
    wanted = by_ids(value)
    shipments, params = wanted.sql, wanted.params
    if scope.actor.kind is ActorKind.VENDOR:
        shipments = f"({shipments}) AND {SHIPMENT_OF_VENDOR.replace('{company}', '{}::bigint')}"
        params = (*params, scope.actor.vendor_id)
    return has_any_id("t.id", "shipments s", "s.order_id", Condition(shipments.replace("t.", "s."), params))


def _matches(text: str, tracking_code: Condition = Condition("t.tracking_code")) -> Condition:
    wanted = text.strip()
    return Condition(
        f"t.email = lower({{}}) OR t.id::text = {{}} OR {tracking_code.sql} = {{}} OR strpos(t.customer_folded, {{}}::text) > 0",
        (wanted, wanted, *tracking_code.params, wanted, fold(wanted)),
    )


def _matches_for(scope: Scope, text: str) -> Condition:
    return _matches(text, TRACKING_CODE(scope))


_SORTED_CODE = "left(coalesce({}, ''), 255)"


def _sorted_code(scope: Scope) -> Condition:
    code = TRACKING_CODE(scope)
    return Condition(_SORTED_CODE.format(code.sql), code.params)


ORDERS = Entity(
    table="orders",
    visible=VisibleRows(
        admin=("view_orders",), app="read_orders", vendor=_VENDOR_ORDERS, customer="t.user_id = {user}"
    ),
    filters={
        "id": ids("orders"),
        "number": EntityFilter("big_int", any_of("t.id", "bigint"), "any of these numbers", many=True),
        "status": statuses("order_status"),
        "payment_status": EntityFilter(
            "payment_status", any_of("t.payment_status", skewed=True), "any of these payment statuses", many=True
        ),
        "customer_id": references("users", "placed by any of these users"),
        "vendor_id": EntityFilter("id", _vendor, "has lines of any of these vendors", many=True, build_for=_has_vendor),
        **exact("text", email="exact e-mail of the customer"),
        "search": EntityFilter(
            "text", _matches, "number, e-mail, tracking code, or part of the customer's name", build_for=_matches_for
        ),
        "total_from": _total_filter(">=", "minimum total in cents"),
        "total_to": _total_filter("<=", "maximum total in cents"),
        **created_range("placed"),
        "updated_from": EntityFilter("time", compares("t.updated_at", ">="), "updated at or after this time"),
        **_exact_amounts("total_cents", "subtotal_cents", "shipping_cents"),
        **exact("text", "firstname", "lastname", "phone", "company_name", "fax", internal=True),
        "payment_method_id": optional_references(
            "payment_methods", "paid with any of these methods; 0 means with none"
        ),
        "shipping_method_id": optional_references("shipping_methods", "sent by any of these methods; 0 means by none"),
        "buyer_id": optional_references("users", "placed by any of these users; 0 means by guests", internal=True),
        "sole_vendor_id": optional_references(
            "vendors", "all lines belong to one of these vendors; 0 means several vendors or none", internal=True
        ),
        "shipment_id": EntityFilter(
            "id", by_ids, "has any of these shipments", many=True, internal=True, build_for=_has_shipment
        ),
        **_exact_amounts("discount_cents", "surcharge_cents", "tax_cents"),
        **exact("text", "notes", "details", "ip_address", internal=True),
        "created_at": exact_second("t.created_at", "placed in this second"),
        "updated_at": exact_second("t.updated_at", "changed in this second"),
        "lang_code": exact_value("text", ORDER_LANGUAGE, "exact code of the language", internal=True),
        "invoice": exact_value("text", ORDER_INVOICE, "exact invoice number", internal=True),
        **_ADDRESS_FILTERS,
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "creation time"),
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last update"),
        "total": _amount_sort("total_cents", "total"),
        **sorts(("status", "status")),
        "number": Sort("t.id", "bigint", "number"),
        "subtotal": _amount_sort("subtotal_cents", "subtotal"),
        "shipping": _amount_sort("shipping_cents", "shipping price"),
        "discount": _amount_sort("discount_cents", "discount"),
        **sorts("payment_status", "currency"),
        "delivery_time": Sort(
            "left(coalesce(t.delivery_time, ''), 255)", "text", "quoted delivery time as a text, none lowest"
        ),
        "tracking_code": Sort(
            _SORTED_CODE.format("t.tracking_code"), "text", "tracking code, none lowest", sql_for=_sorted_code
        ),
    },
    default_sort="-created_at",
)


# Reached only through an order, whose rows are filtered already: of storefronts one of PLACED_ORDERS.
_ADMIN = ("view_orders",)

ORDER_LINES = Entity(
    table="order_lines",
    visible=VisibleRows(
        admin=_ADMIN, app="read_orders", vendor="t.vendor_id = {company}", customer="", storefront=CHECKOUT
    ),
)
# The choices of a line, in the order of the product's options. `option_id` and `variant_id` are the internal ids of what is left of them.
_NUMBER = "(SELECT x.id FROM {table} x WHERE x.tenant_id = l.tenant_id AND x.public_id = (o.choice ->> '{name}')::uuid)"
ORDER_LINE_CHOICES = (
    "order_lines l JOIN LATERAL (SELECT l.tenant_id, o.choice, o.position,"
    f" {_NUMBER.format(table='options', name='option_id')} AS option_id,"
    f" {_NUMBER.format(table='option_variants', name='variant_id')} AS variant_id"
    " FROM jsonb_array_elements(l.options) WITH ORDINALITY AS o(choice, position)) AS t ON true"
)
ORDER_LINE_OPTIONS = Entity(
    table="order_lines",
    visible=VisibleRows(admin=_ADMIN, app="read_orders", vendor="", customer="", storefront=CHECKOUT),
)
# The token of an account's order opens the order, and not where its customer lives.
_OWN_ADDRESS = """EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id
    AND (o.user_id IS NULL OR o.user_id = {user}))"""
ORDER_ADDRESSES = Entity(
    table="order_addresses",
    visible=VisibleRows(
        admin=_ADMIN,
        app="read_orders",
        vendor="",
        customer=_OWN_ADDRESS,
        storefront=CHECKOUT,
        storefront_rows=_OWN_ADDRESS,
    ),
)
ORDER_HISTORY = Entity(
    table="order_status_changes",
    visible=VisibleRows(admin=_ADMIN, app="read_orders", vendor="", customer="", storefront=CHECKOUT),
)

STATUSES = Entity(
    table="statuses",
    # Statuses are public: anybody who sees orders reads them, and so does a storefront.
    visible=published(_ADMIN, "read_orders", ""),
    filters={
        "id": ids("statuses"),
        **exact("text", letter="any of these codes", description="exact description"),
        **exact("status_type", type="any of these types"),
        "search": substring("description", "t.description"),
        "is_built_in": EntityFilter("boolean", flag("t.built_in"), "is built in"),
        **exact("text", "color", internal=True),
        **exact("big_int", "position", internal=True),
    },
    sorts=sorts("position", "description", ("letter", "status code"), "id"),
)

_CUSTOM_STATUSES = """ARRAY(
    SELECT c.letter FROM statuses c WHERE c.tenant_id = t.tenant_id AND c.type = 'O' AND NOT c.built_in ORDER BY c.position, c.letter
)"""
NEXT_STATUSES = f"CASE t.type WHEN 'O' THEN {allowed_sql('t.letter', _CUSTOM_STATUSES)} ELSE ARRAY[]::text[] END"
"""The statuses to which an order in a status may change (`domain.orders.transitions`)."""

# No vendor sees the taxes of a multi-vendor order: they are totals over all lines.
ALLOCATION_NAME = """(
    SELECT p.name || coalesce((
        SELECT ' (' || string_agg(v.name, ', ' ORDER BY k.option_id) || ')'
        FROM combination_choices k JOIN option_variants v ON v.tenant_id = k.tenant_id AND v.id = k.variant_id
        WHERE k.tenant_id = t.tenant_id AND k.combination_id = t.combination_id
    ), '') FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id)"""
ORDER_ALLOCATIONS = Entity(
    label="allocation of an order",
    table="order_allocations",
    visible=VisibleRows(
        admin=_ADMIN,
        app="read_orders",
        vendor="EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id AND p.vendor_id = {company})",
    ),
)
ORDER_TAXES = Entity(
    table="order_taxes",
    visible=VisibleRows(admin=_ADMIN, app="read_orders", vendor=ORDER_OF_VENDOR, customer=""),
)
