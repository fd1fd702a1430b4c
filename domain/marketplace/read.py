"""Declare what of vendors and reviews can be read."""

from __future__ import annotations

from collections.abc import Callable

from domain.catalog.read import in_second, refers_to_or_none
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, named, refers_to

AVERAGE_RATING = (
    "(SELECT avg(d.rating)::float8 FROM products p JOIN discussion_threads th ON th.tenant_id = p.tenant_id"
    " AND th.object_type = 'P' AND th.object_id = p.id"
    " JOIN discussion_posts d ON d.tenant_id = th.tenant_id AND d.thread_id = th.id"
    " WHERE p.tenant_id = t.tenant_id AND p.vendor_id = t.id AND d.status = 'A')"
)


def _exact(column: str, what: str) -> EntityFilter:
    return EntityFilter("text", any_of(column), f"exact {what}", many=True, internal=True)


VENDORS = Entity(
    name="vendor",
    table="vendors",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_marketplace", "view_products", "view_orders"),
        app=("read_products", "read_orders"),
        vendor="t.id = {company}",
        customer="t.status = 'A'",
        storefront="storefront:read",
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these vendors", many=True),
        "status": EntityFilter("vendor_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
        "email": _exact("t.email", "e-mail"),
        "phone": _exact("t.phone", "phone"),
        "address": _exact("t.address", "address"),
        "city": _exact("t.city", "city"),
        "state": _exact("t.state", "state"),
        "country": _exact("t.country", "country"),
        "zipcode": _exact("t.zipcode", "CEP, digits only"),
        "cnpj": _exact("t.cnpj", "CNPJ, without punctuation"),
        "url": _exact("t.url", "address of the vendor's own site"),
        "commission": _exact("t.commission", "commission, with two decimals"),
        "commission_type": _exact("t.commission_type", "type of commission, one letter"),
        "average_rating": _exact(
            f"coalesce(to_char({AVERAGE_RATING}, 'FM0.00'), '0.00')", "mean rating, with two decimals"
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "joined in that second", many=True, internal=True
        ),
    },
    sorts={
        "name": Sort("t.name", "text", "name"),
        "email": Sort("t.email", "text", "e-mail"),
        "status": Sort("t.status", "text", "status letter"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="name",
)


def _in_thread(expression: str) -> Callable[[object], Where]:
    """Match posts by a letter of their thread."""
    matches = any_of(f"th.{expression}")
    return lambda value: _whose_thread(matches(value))


def _whose_thread(found: Where) -> Where:
    return Where(
        "EXISTS (SELECT 1 FROM discussion_threads th WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id"
        f" AND ({found.sql}))",
        found.params,
    )


def _about_product(value: object) -> Where:
    found = refers_to("th.object_id", "products")(value)
    return _whose_thread(Where(f"th.object_type = 'P' AND ({found.sql})", found.params))


# Where the things lie that somebody may write about; the store itself has no row, and the number 0.
_OBJECT_TABLES = {"P": "products", "C": "categories", "A": "pages", "O": "orders"}


def _about_any(value: object) -> Where:
    values = value if isinstance(value, list) else [value]
    numbers = [item for item in values if isinstance(item, int)]
    uuids = [item for item in values if not isinstance(item, int)]
    parts, params = ["th.object_id = ANY({}::bigint[])"], [numbers]
    for letter, table in _OBJECT_TABLES.items():
        if uuids:
            refers = refers_to("th.object_id", table)(uuids)
            parts.append(f"th.object_type = '{letter}' AND {refers.sql}")
            params += refers.params
    return _whose_thread(Where(" OR ".join(parts), tuple(params)))


# What is said about an order stays between its buyer and the shop.
_PUBLIC = (
    "t.status = 'A' AND NOT EXISTS (SELECT 1 FROM discussion_threads th WHERE th.tenant_id = t.tenant_id"
    " AND th.id = t.thread_id AND th.object_type = 'O')"
)

REVIEWS = Entity(
    name="review",
    table="discussion_posts",
    visible=Rows(
        admin=("view_products",),
        app="read_products",
        vendor=(
            "EXISTS (SELECT 1 FROM discussion_threads th JOIN products p ON p.tenant_id = th.tenant_id AND p.id = th.object_id"
            " WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id AND th.object_type = 'P' AND p.vendor_id = {company})"
        ),
        customer=f"({_PUBLIC}) OR t.user_id = {{user}}",
        storefront="storefront:read",
        storefront_rows=_PUBLIC,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these reviews", many=True),
        "product_id": EntityFilter("id", _about_product, "about any of these products", many=True),
        "user_id": EntityFilter("id", refers_to("t.user_id", "users"), "by any of these users", many=True),
        "rating": EntityFilter("big_int", any_of("t.rating", "bigint"), "any of these ratings", many=True),
        "status": EntityFilter("review_status", any_of("t.status"), "any of these statuses", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where(
                "strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0 OR strpos(vitrine_fold(t.message), vitrine_fold({}::text)) > 0",
                (text, text),
            ),
            "part of the author's name or of the text",
        ),
        "object_type": EntityFilter(
            "text", _in_thread("object_type"), "about things of any of these types, by letter", many=True
        ),
        "thread_id": EntityFilter(
            "id",
            refers_to("t.thread_id", "discussion_threads"),
            "in any of these threads",
            many=True,
            internal=True,
        ),
        "thread_type": EntityFilter(
            "text", _in_thread("type"), "in threads of any of these types", many=True, internal=True
        ),
        "object_id": EntityFilter(
            "id", _about_any, "about any of these things, of whatever type", many=True, internal=True
        ),
        "name": _exact("t.name", "name of the author"),
        "message": _exact("t.message", "text"),
        "stars": EntityFilter(
            "big_int",
            any_of("coalesce(t.rating, 0)", "bigint"),
            "any of these ratings; 0 means none",
            many=True,
            internal=True,
        ),
        "author_id": EntityFilter(
            "id",
            refers_to_or_none("t.user_id", "users"),
            "by any of these users; 0 means by nobody with an account",
            many=True,
            internal=True,
        ),
        "ip_address": _exact("t.ip_address", "address it was sent from"),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "written in that second", many=True, internal=True
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of writing"),
        "name": Sort("t.name", "text", "name of the author"),
        "rating": Sort("coalesce(t.rating, 0)", "bigint", "rating"),
        "status": Sort("t.status", "text", "status letter"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)
