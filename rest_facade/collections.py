"""Describe the collections that the current and app families share: names, lists, bodies and the codes of their fields.

What a collection is, is said once: the families differ in their routes, in which of the lists' parameters are called how
(`Collection.listed`), and in the operations they execute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kernel import codes
from rest_facade.field_errors import Codes
from rest_facade.list_parameters import Listing, Parameter, code_of, first_day, last_day, one_of

ROLES = ("admin", "vendor", "customer")


def as_given(value: Any) -> Any:
    """Take a value as it is: the operation reads it."""
    return value


def image_links(value: Any) -> Any:
    """Give pictures with what a record shows of them; unknown members are ignored as everywhere (decisions section 1)."""
    if not isinstance(value, list):
        return value
    return [
        {name: image[name] for name in ("url", "alt") if name in image} if isinstance(image, dict) else image
        for image in value
    ]


@dataclass(frozen=True, slots=True)
class Collection:
    """Describe a collection.

    `name` is its word in addresses and envelopes, `thing` what people call one record. A family's operations are its prefix with
    `<plural>`, `<singular>` and, where `body` names the fields that may be written, `<singular>Create`, `…Update` and `…Delete`.
    """

    name: str
    thing: str
    plural: str
    singular: str
    listing: Listing
    body: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    codes: Codes = field(default_factory=dict)
    required: Codes = field(default_factory=dict)
    """What the shop says is missing of a new record; said here too for bodies that don't get as far as the shop."""

    def listed(self, **changes: Any) -> Collection:
        """Give the collection with a list that differs in some of its words (`size`, `always`, …)."""
        return replace(self, listing=replace(self.listing, **changes))

    def given(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give what of a body the collection knows; the rest is ignored."""
        return {name: read(body[name]) for name, read in self.body.items() if name in body}

    def missing(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Give the codes of what a new record needs and was not given."""
        return {
            name: code for name, code in self.required.items() if given.get(name) is None or given[name] == ""
        }


_CREATED = {
    "created_after": Parameter("created_from", first_day),
    "created_before": Parameter("created_before", last_day),
}
_SEARCH = {"search": Parameter("search", str)}


def _status(table: codes.CodeTable) -> dict[str, Parameter]:
    return {"status": Parameter("status", code_of(table))}


PRODUCTS = Collection(
    name="products",
    thing="product",
    plural="Products",
    singular="Product",
    listing=Listing(
        filters={
            **_SEARCH,
            **_status(codes.PRODUCT_STATUSES),
            "category_id": Parameter("category_id", str),
            **_CREATED,
        },
        sorts={
            "created_at": "CREATED_AT",
            "updated_at": "UPDATED_AT",
            "name": "NAME",
            "sku": "SKU",
            "slug": "SLUG",
            "status": "STATUS",
            "price_cents": "PRICE",
            "compare_at_cents": "COMPARE_AT",
            "stock": "STOCK",
            "id": "ID",
        },
    ),
    body={
        "name": as_given,
        "sku": as_given,
        "slug": as_given,
        "description": as_given,
        "short_description": as_given,
        "status": as_given,
        "price_cents": as_given,
        "compare_at_cents": as_given,
        "stock": as_given,
        "category_id": as_given,
        "images": image_links,
    },
    codes={
        "name": "name_invalid",
        "sku": "sku_invalid",
        "slug": "slug_invalid",
        "status": "status_invalid",
        "price_cents": "price_invalid",
        "compare_at_cents": "price_invalid",
        "stock": "stock_invalid",
        "images.url": "url_invalid",
    },
    required={"name": "name_required", "price_cents": "required"},
)

CATEGORIES = Collection(
    name="categories",
    thing="category",
    plural="Categories",
    singular="Category",
    listing=Listing(
        filters={
            **_SEARCH,
            **_status(codes.CATEGORY_STATUSES),
            "parent_id": Parameter("parent_id", str),
            **_CREATED,
        },
        sorts={"position": "POSITION", "name": "NAME", "created_at": "CREATED_AT", "id": "ID"},
    ),
    body={
        "name": as_given,
        "parent_id": as_given,
        "position": as_given,
        "status": as_given,
    },
    codes={"name": "name_invalid", "status": "status_invalid", "position": "position_invalid"},
    required={"name": "name_required"},
)

ORDERS = Collection(
    name="orders",
    thing="order",
    plural="Orders",
    singular="Order",
    listing=Listing(
        filters={
            **_SEARCH,
            "status": Parameter(
                "status", of_store=lambda store: code_of(codes.order_statuses(store.order_statuses))
            ),
            "customer_id": Parameter("customer_id", str),
            **_CREATED,
        },
        sorts={
            "created_at": "CREATED_AT",
            "updated_at": "UPDATED_AT",
            "id": "NUMBER",
            "number": "NUMBER",
            "status": "STATUS",
            "total_cents": "TOTAL",
            "subtotal_cents": "SUBTOTAL",
            "shipping_cents": "SHIPPING",
            "discount_cents": "DISCOUNT",
            "payment_status": "PAYMENT_STATUS",
        },
    ),
)

_PEOPLE_SORTS = {
    "created_at": "CREATED_AT",
    "name": "NAME",
    "email": "EMAIL",
    "role": "ROLE",
    "status": "STATUS",
    "last_login_at": "LAST_LOGIN",
    "id": "ID",
}
_PEOPLE_FILTERS = {**_SEARCH, **_status(codes.USER_STATUSES), **_CREATED}

USERS = Collection(
    name="users",
    thing="user",
    plural="Users",
    singular="User",
    listing=Listing(
        filters={**_PEOPLE_FILTERS, "role": Parameter("role", one_of("role", ROLES))}, sorts=_PEOPLE_SORTS
    ),
)

CUSTOMERS = Collection(
    name="customers",
    thing="customer",
    plural="Customers",
    singular="Customer",
    listing=Listing(filters=_PEOPLE_FILTERS, sorts=_PEOPLE_SORTS, always={"role": "customer"}),
)

AUDIT_LOG = Collection(
    name="audit-log",
    thing="audit entry",
    plural="AuditLog",
    singular="AuditEntry",
    listing=Listing(
        filters={
            "action": Parameter("action", str),
            "subject_type": Parameter("subject_type", str),
            "subject_id": Parameter("subject_id", str),
            "user_id": Parameter("user_id", str),
            **_CREATED,
        },
        sorts={"at": "AT", "id": "ID"},
    ),
)

COLLECTIONS = (PRODUCTS, CATEGORIES, ORDERS, USERS, CUSTOMERS, AUDIT_LOG)
