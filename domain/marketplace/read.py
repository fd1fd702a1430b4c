"""Declare what of vendors and reviews can be read."""

from __future__ import annotations

from domain.visibility import Rows
from models.reading import Entity, Filter, Sort, Where, any_of, named, refers_to

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
        "id": Filter("id", named, "any of these vendors", many=True),
        "status": Filter("vendor_status", any_of("t.status"), "any of these statuses", many=True),
        "name": Filter("text", any_of("t.name"), "exact name", many=True),
        "search": Filter(
            "text",
            lambda text: Where("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
    },
    sorts={
        "name": Sort("t.name", "text", "name"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="name",
)


def _product(value: object) -> Where:
    return refers_to("th.object_id", "products")(value)


def _about_product(value: object) -> Where:
    found = _product(value)
    return Where(
        "EXISTS (SELECT 1 FROM discussion_threads th WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id"
        f" AND th.object_type = 'P' AND ({found.sql}))",
        found.params,
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
        customer="t.status = 'A'",
        storefront="storefront:read",
        storefront_rows="t.status = 'A'",
    ),
    filters={
        "id": Filter("id", named, "any of these reviews", many=True),
        "product_id": Filter("id", _about_product, "about any of these products", many=True),
        "user_id": Filter("id", refers_to("t.user_id", "users"), "by any of these users", many=True),
        "rating": Filter("big_int", any_of("t.rating", "bigint"), "any of these ratings", many=True),
        "status": Filter("review_status", any_of("t.status"), "any of these statuses", many=True),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of writing"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)
