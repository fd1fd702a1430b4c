"""Declare what of orders can be read.

A vendor sees an order that holds lines of its own, of it only these lines, and as its total their sum.
"""

from __future__ import annotations

from collections.abc import Callable

from domain.catalog.read import in_second, refers_to_or_none
from domain.visibility import Rows
from kernel.scope import ActorKind, Scope
from models.reading import Entity, EntityFilter, Sort, Where, any_of, compares, flag, named, refers_to

_VENDOR_SHARE = (
    "(t.vendor_id = {company} OR EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.order_id = t.id"
    " AND ol.vendor_id = {company}))"
)


def _vendor(value: object) -> Where:
    own = refers_to("t.vendor_id", "vendors")(value)
    lines = refers_to("ol.vendor_id", "vendors")(value)
    return Where(
        f"({own.sql}) OR EXISTS (SELECT 1 FROM order_lines ol WHERE ol.tenant_id = t.tenant_id AND ol.order_id = t.id"
        f" AND ({lines.sql}))",
        (*own.params, *lines.params),
    )


def _with_address(kind: str, expression: str) -> Callable[[object], Where]:
    """Match orders by their billing (`B`) or shipping (`S`) address; `expression` is over `a`."""
    matches = any_of(expression)

    def build(value: object) -> Where:
        found = matches(value)
        return Where(
            "EXISTS (SELECT 1 FROM order_addresses a WHERE a.tenant_id = t.tenant_id AND a.order_id = t.id"
            f" AND a.kind = '{kind}' AND {found.sql})",
            found.params,
        )

    return build


# The two lines into which an address is put where there is no room for more.
_ADDRESS_EXPRESSIONS = {
    **{
        name: f"a.{name}"
        for name in ("firstname", "lastname", "city", "state", "country", "zipcode", "phone")
    },
    "line_1": "concat_ws(', ', nullif(a.street, ''), nullif(a.number, ''))",
    "line_2": "concat_ws(', ', nullif(a.complement, ''), nullif(a.district, ''))",
}
_ADDRESS_FILTERS = {
    f"{name}_{member}": EntityFilter(
        "text",
        _with_address(kind, expression),
        f"exact {member} of the {name} address",
        many=True,
        internal=True,
    )
    for name, kind in (("billing", "B"), ("shipping", "S"))
    for member, expression in _ADDRESS_EXPRESSIONS.items()
}


def _holds_shipment(value: object) -> Where:
    found = named(value)
    return Where(
        "t.id IN (SELECT s.order_id FROM shipments s WHERE s.tenant_id = {tenant} AND ("
        + found.sql.replace("t.", "s.")
        + "))",
        found.params,
    )


ORDERS = Entity(
    name="order",
    table="orders",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_orders",),
        app="read_orders",
        vendor=_VENDOR_SHARE,
        customer="t.user_id = {user}",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these orders", many=True),
        "number": EntityFilter("big_int", any_of("t.id", "bigint"), "any of these numbers", many=True),
        "status": EntityFilter("order_status", any_of("t.status"), "any of these statuses", many=True),
        "payment_status": EntityFilter(
            "text", any_of("t.payment_status"), "any of these payment statuses", many=True
        ),
        "customer_id": EntityFilter(
            "id", refers_to("t.user_id", "users"), "placed by any of these users", many=True
        ),
        "vendor_id": EntityFilter("id", _vendor, "holds lines of any of these vendors", many=True),
        "email": EntityFilter("text", any_of("t.email"), "exact e-mail of the customer", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where(
                "t.email = lower({}) OR t.id::text = {} OR t.tracking_code = {} OR"
                " strpos(t.customer_folded, vitrine_fold({}::text)) > 0",
                (text.strip(), text.strip(), text.strip(), text.strip()),
            ),
            "number, e-mail, tracking code, or part of the customer's name",
        ),
        "total_from": EntityFilter(
            "cents", compares("t.total_cents", ">="), "total of at least so many cents"
        ),
        "total_to": EntityFilter("cents", compares("t.total_cents", "<="), "total of at most so many cents"),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "placed then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "placed before"),
        "updated_from": EntityFilter("time", compares("t.updated_at", ">="), "changed then or later"),
        "total_cents": EntityFilter(
            "cents", any_of("t.total_cents", "bigint"), "exact total", many=True, internal=True
        ),
        "subtotal_cents": EntityFilter(
            "cents", any_of("t.subtotal_cents", "bigint"), "exact subtotal", many=True, internal=True
        ),
        "shipping_cents": EntityFilter(
            "cents", any_of("t.shipping_cents", "bigint"), "exact shipping", many=True, internal=True
        ),
        "firstname": EntityFilter(
            "text", any_of("t.firstname"), "exact first name", many=True, internal=True
        ),
        "lastname": EntityFilter("text", any_of("t.lastname"), "exact last name", many=True, internal=True),
        "phone": EntityFilter("text", any_of("t.phone"), "exact phone", many=True, internal=True),
        "payment_method_id": EntityFilter(
            "id",
            refers_to_or_none("t.payment_method_id", "payment_methods"),
            "paid with any of these methods; 0 means with none",
            many=True,
        ),
        "shipping_method_id": EntityFilter(
            "id",
            refers_to_or_none("t.shipping_method_id", "shipping_methods"),
            "sent by any of these methods; 0 means by none",
            many=True,
        ),
        "buyer_id": EntityFilter(
            "id",
            refers_to_or_none("t.user_id", "users"),
            "placed by any of these users; 0 means by guests",
            many=True,
            internal=True,
        ),
        "sole_vendor_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "all lines are of one of these vendors; 0 means of several, or of none",
            many=True,
            internal=True,
        ),
        "shipment_id": EntityFilter(
            "id", _holds_shipment, "holds any of these shipments", many=True, internal=True
        ),
        "discount_cents": EntityFilter(
            "cents", any_of("t.discount_cents", "bigint"), "exact discount", many=True, internal=True
        ),
        "tax_cents": EntityFilter(
            "cents", any_of("t.tax_cents", "bigint"), "exact taxes", many=True, internal=True
        ),
        "notes": EntityFilter("text", any_of("t.notes"), "exact notes", many=True, internal=True),
        "details": EntityFilter(
            "text", any_of("t.details"), "exact remarks of the staff", many=True, internal=True
        ),
        "ip_address": EntityFilter(
            "text", any_of("t.ip_address"), "exact address it was placed from", many=True, internal=True
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "placed in that second", many=True, internal=True
        ),
        **_ADDRESS_FILTERS,
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of placing"),
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last change"),
        "total": Sort("t.total_cents", "bigint", "total"),
        "status": Sort("t.status", "text", "status letter"),
        "number": Sort("t.id", "bigint", "number"),
        # Asked for too rarely to be worth an index each, which every order would pay for: the store's orders are put in order.
        "subtotal": Sort("t.subtotal_cents", "bigint", "sum of the lines"),
        "shipping": Sort("t.shipping_cents", "bigint", "price of shipping"),
        "discount": Sort("t.discount_cents", "bigint", "what was taken off"),
        "payment_status": Sort("t.payment_status", "text", "payment status"),
    },
    default_sort="-created_at",
)


def vendors_share(column: str, sum_of: str) -> Callable[[Scope], Where]:
    """Give the expression for an amount of an order: a vendor sees, of an order of several vendors, the sum of its own lines."""

    def expression(scope: Scope) -> Where:
        if scope.actor.kind is not ActorKind.VENDOR:
            return Where(f"t.{column}")
        return Where(
            f"CASE WHEN t.vendor_id = {{}}::bigint THEN t.{column} ELSE (SELECT coalesce(sum({sum_of}), 0)::bigint FROM order_lines ol"
            " WHERE ol.tenant_id = t.tenant_id AND ol.order_id = t.id AND ol.vendor_id = {}::bigint) END",
            (scope.actor.company_id, scope.actor.company_id),
        )

    return expression


# What follows is reached only through an order, whose rows were filtered already.
_ADMIN = ("view_orders",)

ORDER_LINES = Entity(
    name="order line",
    table="order_lines",
    visible=Rows(admin=_ADMIN, app="read_orders", vendor="t.vendor_id = {company}", customer=""),
)
ORDER_ADDRESSES = Entity(
    name="address",
    table="order_addresses",
    visible=Rows(admin=_ADMIN, app="read_orders", vendor="", customer=""),
)
ORDER_HISTORY = Entity(
    name="status change",
    table="order_status_changes",
    visible=Rows(admin=_ADMIN, app="read_orders", vendor="", customer=""),
)

STATUSES = Entity(
    name="status",
    table="statuses",
    alive="t.deleted_at IS NULL",
    # What a letter means is no secret: whoever sees orders reads it, and so does a storefront.
    visible=Rows(admin=_ADMIN, app="read_orders", vendor="", customer="", storefront="storefront:read"),
    filters={
        "id": EntityFilter("id", named, "any of these statuses", many=True),
        "letter": EntityFilter("text", any_of("t.letter"), "any of these letters", many=True),
        "type": EntityFilter(
            "text", any_of("t.type"), "of these types, `O` orders and `S` parcels", many=True
        ),
        "description": EntityFilter("text", any_of("t.description"), "exact description", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("strpos(vitrine_fold(t.description), vitrine_fold({}::text)) > 0", (text,)),
            "part of the description",
        ),
        "is_built_in": EntityFilter("boolean", flag("t.built_in"), "every store has it"),
        "color": EntityFilter("text", any_of("t.color"), "exact colour", many=True, internal=True),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "description": Sort("t.description", "text", "description"),
        "letter": Sort("t.letter", "text", "letter"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

# Of an order of several vendors none sees the taxes: they are of all lines together.
ORDER_TAXES = Entity(
    name="tax of an order",
    table="order_taxes",
    visible=Rows(
        admin=_ADMIN,
        app="read_orders",
        vendor=(
            "EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id"
            " AND o.vendor_id = {company})"
        ),
        customer="",
    ),
)
