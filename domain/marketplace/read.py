"""Queryable fields of vendors and reviews: visibility, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.catalog.listing import LISTED, of_row
from domain.filters import (
    contains_text,
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
from domain.visibility import VisibleRows, is_shopper, published
from kernel.ids import split_references
from kernel.product_fields import SEO_FIELDS
from kernel.scope import Scope
from models.reading.queries import Condition, Entity, EntityFilter, Sort, any_of, has_any_id, refers_to, unindexed

# `OFFSET 0` keeps PostgreSQL from joins, and from indexes of other columns, which read a whole store for each vendor while its statistics
# are older than an import.
_PRODUCTS = "(SELECT p.* FROM products p WHERE p.tenant_id = t.tenant_id AND p.vendor_id = t.id OFFSET 0) p"
_OF_REVIEWS = (
    f"(SELECT {{}} FROM {_PRODUCTS} CROSS JOIN LATERAL (SELECT th.id FROM discussion_threads th"
    " WHERE th.tenant_id = p.tenant_id AND th.object_type = 'P' AND th.object_id = p.id OFFSET 0) th"
    " CROSS JOIN LATERAL (SELECT d.rating, d.status FROM discussion_posts d"
    " WHERE d.tenant_id = p.tenant_id AND d.thread_id = th.id OFFSET 0) d WHERE d.status = 'A')"
)
AVERAGE_RATING = _OF_REVIEWS.format("avg(d.rating)::float8")
REVIEW_COUNT = _OF_REVIEWS.format("count(*)")


def product_count(scope: Scope) -> Condition:
    """Return the number of a vendor's active products; shoppers count those that they find."""
    counted = of_row(LISTED, "p") if is_shopper(scope) else "p.status = 'A'"
    return Condition(f"(SELECT count(*) FROM {_PRODUCTS} WHERE p.deleted_at IS NULL AND {counted})")


VENDORS = Entity(
    table="vendors",
    visible=published(
        ("view_marketplace", "view_products", "view_orders"),
        ("read_products", "read_orders"),
        vendor="t.id = {company}",
    ),
    filters={
        "id": ids("vendors"),
        "status": statuses("vendor_status"),
        **exact("text", "name", "slug"),
        "search": substring("name", "t.name"),
        **exact(
            "text",
            "email",
            "phone",
            "address",
            "city",
            "state",
            "country",
            "zipcode",
            "cnpj",
            "url",
            "commission",
            "commission_type",
            "description",
            *SEO_FIELDS,
            internal=True,
        ),
        "average_rating": exact_value(
            "text",
            f"coalesce(to_char({AVERAGE_RATING}, 'FM0.00'), '0.00')",
            "exact mean rating, with two decimals",
            internal=True,
        ),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts=sorts("name", ("email", "e-mail"), "status", "created_at", "id"),
)


def _in_thread(expression: str) -> Callable[[object], Condition]:
    """Match posts by a column of their thread."""
    matches = any_of(f"th.{expression}")

    def in_thread(value: object) -> Condition:
        condition = matches(value)
        return Condition(
            "EXISTS (SELECT 1 FROM discussion_threads th WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id"
            f" AND {unindexed(condition.sql)})",
            condition.params,
        )

    return in_thread


def _in_threads_of(objects: Condition) -> Condition:
    """Match posts about the objects of a filter."""
    return has_any_id("t.thread_id", "discussion_threads th", "th.id", objects)


def _about_product(value: object) -> Condition:
    condition = refers_to("th.object_id", "products")(value)
    return _in_threads_of(Condition(f"th.object_type = 'P' AND ({condition.sql})", condition.params))


# The tables of review subjects; the store itself has no row and the id 0.
_OBJECT_TABLES = {"P": "products", "C": "categories", "A": "pages", "O": "orders"}


def _about_any(value: object) -> Condition:
    values: list[Any] = value if isinstance(value, list) else [value]
    numbers, uuids = split_references(values)
    parts, params = ["th.object_id = ANY({}::bigint[])"], [numbers]
    for object_type, table in _OBJECT_TABLES.items():
        if uuids:
            refers = refers_to("th.object_id", table)(uuids)
            parts.append(f"th.object_type = '{object_type}' AND {refers.sql}")
            params += refers.params
    return _in_threads_of(Condition(" OR ".join(parts), tuple(params)))


_OBJECT_IDS = " ".join(
    f"WHEN '{object_type}' THEN (SELECT x.public_id FROM {table} x WHERE x.tenant_id = d.tenant_id AND x.id = d.object_id)"
    for object_type, table in _OBJECT_TABLES.items()
)
REVIEWED_OBJECT = (
    f"(SELECT CASE d.object_type {_OBJECT_IDS} END FROM discussion_threads d"
    " WHERE d.tenant_id = t.tenant_id AND d.id = t.thread_id)"
)
"""The expression of the id of the reviewed object; null for the store itself."""
_REVIEWED_PRODUCT = (
    "FROM discussion_threads th JOIN products p ON p.tenant_id = th.tenant_id AND p.id = th.object_id"
    " WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id AND " + unindexed("th.object_type = 'P'")
)
REVIEWED_PRODUCT = f"(SELECT p.public_id {_REVIEWED_PRODUCT})"
"""The expression of the id of the reviewed product."""
REVIEWED_VENDOR = f"(SELECT p.vendor_id {_REVIEWED_PRODUCT})"
"""The expression of the vendor of the reviewed product."""

# Reviews of orders are visible to their customer and the store only.
_PUBLIC = (
    "t.status = 'A' AND NOT EXISTS (SELECT 1 FROM discussion_threads th WHERE th.tenant_id = t.tenant_id"
    " AND th.id = t.thread_id AND " + unindexed("th.object_type = 'O'") + ")"
)

REVIEWS = Entity(
    table="discussion_posts",
    visible=VisibleRows(
        admin=("view_products",),
        app="read_products",
        vendor=f"EXISTS (SELECT 1 {_REVIEWED_PRODUCT} AND p.vendor_id = {{company}})",
        customer=f"({_PUBLIC}) OR t.user_id = {{user}}",
        storefront="storefront:read",
        storefront_rows=_PUBLIC,
    ),
    filters={
        "id": ids("reviews"),
        **created_range("written"),
        "name_part": EntityFilter("text", contains_text("t.name"), "part of the author's name", internal=True),
        "message_part": EntityFilter("text", contains_text("t.message"), "part of the text", internal=True),
        "product_id": EntityFilter("id", _about_product, "about any of these products", many=True),
        "user_id": references("users", "by any of these users"),
        **exact("big_int", rating="any of these ratings"),
        "status": statuses("review_status"),
        "search": substring("author's name or of the text", "t.name", "t.message"),
        "object_type": EntityFilter(
            "discussion_object_type",
            _in_thread("object_type"),
            "about subjects of any of these types, by code",
            many=True,
        ),
        "thread_id": references("discussion_threads", "in any of these discussions", column="t.thread_id"),
        "thread_type": EntityFilter(
            "text", _in_thread("type"), "in threads of any of these types", many=True, internal=True
        ),
        "object_id": EntityFilter(
            "id", _about_any, "about any of these subjects, of any type", many=True, internal=True
        ),
        "company_id": optional_references(
            "vendors", "about products of any of these vendors; 0 means of none", column=REVIEWED_VENDOR, internal=True
        ),
        **exact("text", "name", "message", internal=True),
        "stars": EntityFilter(
            "big_int",
            any_of("coalesce(t.rating, 0)", "bigint"),
            "any of these ratings; 0 means none",
            many=True,
            internal=True,
        ),
        "author_id": optional_references("users", "by any of these users; 0 means without an account", internal=True),
        **exact("text", "ip_address", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        **sorts("created_at", ("name", "name of the author")),
        "rating": Sort("coalesce(t.rating, 0)", "bigint", "rating"),
        **sorts("status", "id"),
    },
    default_sort="-created_at",
)
