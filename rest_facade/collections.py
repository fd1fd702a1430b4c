"""Define the collections shared by the current and app families: names, list parameters, body fields and field error codes.

The families differ in routes, names of list parameters (`Collection.with_listing`) and operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kernel import codes
from kernel.fields import InputField, read_with_errors
from kernel.product_fields import IMAGE_FIELDS, PRODUCT_FIELDS, PRODUCT_RECORD
from rest_facade.field_errors import FieldCodes
from rest_facade.list_parameters import (
    FilterParameter,
    ListDefinition,
    choice_parser,
    code_parser,
    end_of_day,
    start_of_day,
)

ROLES = ("admin", "vendor", "customer")


def array(value: Any) -> Any:
    """Return an array unchanged, and a single value as what no array holds: GraphQL would take it for an array of one."""
    return value if value is None or isinstance(value, list) else [[value]]


def image_inputs(value: Any) -> Any:
    """Select the known members of image inputs."""
    if not isinstance(value, list):
        return array(value)
    return [
        {name: image[name] for name in ("url", "alt") if name in image} if isinstance(image, dict) else image
        for image in value
    ]


@dataclass(frozen=True, slots=True)
class Collection:
    """Describe a collection.

    `name` is its path segment and envelope key, `display_name` the singular in error messages. A family's operations are its prefix
    followed by `<plural>`, `<singular>` and, if `body` lists writable fields, `<singular>Create`, `…Update` and `…Delete`.
    """

    name: str
    display_name: str
    plural: str
    singular: str
    list_definition: ListDefinition
    body: Mapping[str, Callable[[Any], Any] | None] = field(default_factory=dict)
    """The writable fields; what converts their values before the operation validates them, None for nothing."""
    field_codes: FieldCodes = field(default_factory=dict)
    required: FieldCodes = field(default_factory=dict)
    """Error codes of required fields on creation; also reported when another field fails first."""
    input_fields: Mapping[str, InputField] = field(default_factory=dict)
    """The validation of fields, whose errors are also reported when another field fails first."""

    def with_listing(self, **changes: Any) -> Collection:
        """Return a copy with a changed list definition (`size_parameter`, `fixed_filters`, …)."""
        return replace(self, list_definition=replace(self.list_definition, **changes))

    def field_errors(self, values: Mapping[str, Any], *, creating: bool) -> dict[str, str]:
        """Return the error codes of the fields that are missing on creation, or invalid."""
        required = self.required if creating else {}
        missing = {name: code for name, code in required.items() if values.get(name) is None or values[name] == ""}
        _, invalid = read_with_errors(self.input_fields, values)
        return missing | {name: code for name, (code, _) in invalid.items()}


_CREATED = {
    "created_after": FilterParameter("created_from", start_of_day),
    "created_before": FilterParameter("created_before", end_of_day),
}
_SEARCH = {"search": FilterParameter("search", str)}


def _sorts(names: str, **others: str) -> dict[str, str]:
    """Return the GraphQL sorts of these names: those of the same names, except for `others`."""
    return {name: name.upper() for name in names.split()} | others


def _status(table: codes.CodeTable) -> dict[str, FilterParameter]:
    return {"status": FilterParameter("status", code_parser(table))}


# The error codes of the record's fields that an input can set.
_WRITABLE = {field.name: PRODUCT_FIELDS[field.name].code for field in PRODUCT_RECORD if field.name in PRODUCT_FIELDS}

PRODUCTS = Collection(
    name="products",
    display_name="product",
    plural="Products",
    singular="Product",
    list_definition=ListDefinition(
        filters={
            **_SEARCH,
            **_status(codes.PRODUCT_STATUSES),
            "category_id": FilterParameter("category_id", str),
            **_CREATED,
        },
        sorts=_sorts(
            "created_at updated_at name sku slug status price_cents compare_at_cents stock id description short_description"
            " currency category_id weight_grams length_mm width_mm height_mm gtin shipping_freight_cents",
            price_cents="PRICE",
            compare_at_cents="COMPARE_AT",
            currency="ID",  # a store sells in one currency
            category_id="CATEGORY",
        ),
    ),
    body={**dict.fromkeys((*_WRITABLE, "category_id")), "images": image_inputs},
    field_codes={**_WRITABLE, "images.url": IMAGE_FIELDS["url"].code},
    required={name: field.required for name, field in PRODUCT_FIELDS.items() if field.required},
    input_fields={name: PRODUCT_FIELDS[name] for name in _WRITABLE},
)

CATEGORIES = Collection(
    name="categories",
    display_name="category",
    plural="Categories",
    singular="Category",
    list_definition=ListDefinition(
        filters={
            **_SEARCH,
            **_status(codes.CATEGORY_STATUSES),
            "parent_id": FilterParameter("parent_id", str),
            **_CREATED,
        },
        sorts=_sorts("position name created_at id"),
    ),
    body=dict.fromkeys(("name", "slug", "parent_id", "position", "status")),
    field_codes={
        "name": "name_invalid",
        "slug": "slug_invalid",
        "status": "status_invalid",
        "position": "position_invalid",
    },
    required={"name": "name_required"},
)

ORDERS = Collection(
    name="orders",
    display_name="order",
    plural="Orders",
    singular="Order",
    list_definition=ListDefinition(
        filters={
            **_SEARCH,
            "status": FilterParameter(
                "status", store_parser=lambda store: code_parser(codes.order_statuses(store.order_statuses))
            ),
            "customer_id": FilterParameter("customer_id", str),
            **_CREATED,
        },
        sorts=_sorts(
            "created_at updated_at id number status total_cents subtotal_cents shipping_cents discount_cents payment_status"
            " currency delivery_time tracking_code",
            id="NUMBER",
            total_cents="TOTAL",
            subtotal_cents="SUBTOTAL",
            shipping_cents="SHIPPING",
            discount_cents="DISCOUNT",
        ),
    ),
)

_USER_SORTS = _sorts("created_at name email role status last_login_at id", last_login_at="LAST_LOGIN")
_USER_FILTERS = {**_SEARCH, **_status(codes.USER_STATUSES), **_CREATED}

USERS = Collection(
    name="users",
    display_name="user",
    plural="Users",
    singular="User",
    list_definition=ListDefinition(
        filters={**_USER_FILTERS, "role": FilterParameter("role", choice_parser("role", ROLES))}, sorts=_USER_SORTS
    ),
)

CUSTOMERS = Collection(
    name="customers",
    display_name="customer",
    plural="Customers",
    singular="Customer",
    list_definition=ListDefinition(filters=_USER_FILTERS, sorts=_USER_SORTS, fixed_filters={"role": "customer"}),
)

AUDIT_LOG = Collection(
    name="audit-log",
    display_name="audit entry",
    plural="AuditLog",
    singular="AuditEntry",
    list_definition=ListDefinition(
        filters={
            "action": FilterParameter("action", str),
            "subject_type": FilterParameter("subject_type", str),
            "subject_id": FilterParameter("subject_id", str),
            "user_id": FilterParameter("user_id", str),
            **_CREATED,
        },
        sorts=_sorts("at id"),
    ),
)

VENDOR_ACCOUNTS = Collection(
    name="vendor-accounts",
    display_name="vendor account",
    plural="VendorAccounts",
    singular="VendorAccount",
    list_definition=ListDefinition(filters=_SEARCH, sorts=_sorts("name created_at id")),
)

LEDGER_ENTRIES = Collection(
    name="ledger-entries",
    display_name="ledger entry",
    plural="LedgerEntries",
    singular="LedgerEntry",
    list_definition=ListDefinition(
        filters={
            "vendor_id": FilterParameter("vendor_id", str),
            "order_id": FilterParameter("order_id", str),
            "payout_id": FilterParameter("payout_id", str),
            "kind": FilterParameter("kind", choice_parser("kind", codes.LEDGER_ENTRY_KINDS)),
            **_CREATED,
        },
        sorts=_sorts("created_at amount_cents available_at id"),
    ),
    field_codes={"amount_cents": "amount_invalid"},
)

PAYOUTS = Collection(
    name="payouts",
    display_name="payout",
    plural="Payouts",
    singular="Payout",
    list_definition=ListDefinition(
        filters={
            "vendor_id": FilterParameter("vendor_id", str),
            "status": FilterParameter("status", choice_parser("status", codes.PAYOUT_STATUSES)),
            **_CREATED,
        },
        sorts=_sorts("created_at amount_cents status id"),
    ),
    field_codes={"amount_cents": "amount_invalid"},
)

COLLECTIONS = (PRODUCTS, CATEGORIES, ORDERS, USERS, CUSTOMERS, AUDIT_LOG, VENDOR_ACCOUNTS, LEDGER_ENTRIES, PAYOUTS)
