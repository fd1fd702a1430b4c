"""Look up records by legacy id or public id, within the store and excluding deleted ones.

A missing subject of a request is `NotFound` (404). A missing record that the request merely refers to is an error in the input:
`ValidationFailed` with the code `not_found`. Records of another store are absent in both cases (docs/reference/shared.md#ids).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from kernel.errors import NotFound, ValidationFailed
from kernel.ids import Reference, parse_reference, split_references
from kernel.scope import Scope
from kernel.text import repr_value
from models.connection.database import fetch

NOT_FOUND = "not_found"
_MAX_IN_MESSAGE = 5


@dataclass(frozen=True, slots=True)
class ReferenceType:
    """A type of record that can be referred to: its display name and its table."""

    name: str
    table: str
    soft_deleted: bool = True

    @property
    def sql(self) -> str:
        """Return the statement that looks up many at once; the table's name is one of the constants below."""
        alive = "AND deleted_at IS NULL" if self.soft_deleted else ""
        return (
            f"SELECT id, public_id FROM {self.table} WHERE tenant_id = $1"  # constants of this module
            f" AND (id = ANY($2::bigint[]) OR public_id = ANY($3::uuid[])) {alive}"
        )


ADDRESS = ReferenceType("address", "user_addresses", soft_deleted=False)
ATTACHMENT = ReferenceType("attachment", "attachments", soft_deleted=False)
BLOCK = ReferenceType("block", "blocks")
BOX = ReferenceType("box", "product_boxes")
BOX_DESCRIPTION = ReferenceType("description", "box_descriptions", soft_deleted=False)
BUSINESS_PARTNER = ReferenceType("business partner", "business_partners")
CALL_REQUEST = ReferenceType("call request", "call_requests")
CATEGORY = ReferenceType("category", "categories")
COLLECTION = ReferenceType("collection", "collections")
COMBINATION = ReferenceType("combination", "combinations")
DESTINATION = ReferenceType("destination", "destinations")
EXCEPTION = ReferenceType("exception", "option_exceptions", soft_deleted=False)
FEATURE = ReferenceType("feature", "features")
LANGUAGE = ReferenceType("language", "languages")
LANGUAGE_VARIABLE = ReferenceType("language variable", "language_variables", soft_deleted=False)
MANAGER = ReferenceType("manager", "managers")
MENU = ReferenceType("menu", "menus", soft_deleted=False)
MIX_PRODUCT = ReferenceType("mix product", "mix_products")
OPTION = ReferenceType("option", "options")
ORDER = ReferenceType("order", "orders")
ORDER_LIMIT = ReferenceType("order limit", "order_limits", soft_deleted=False)
PAGE = ReferenceType("page", "pages")
PAYMENT_CODE = ReferenceType("payment code", "payment_codes")
PAYMENT_METHOD = ReferenceType("payment method", "payment_methods")
PAYOUT = ReferenceType("payout", "payouts", soft_deleted=False)
PRODUCT = ReferenceType("product", "products")
PROMOTION = ReferenceType("promotion", "promotions")
REDIRECT = ReferenceType("redirect", "redirects", soft_deleted=False)
REVIEW = ReferenceType("review", "discussion_posts", soft_deleted=False)
SHIPMENT = ReferenceType("shipment", "shipments", soft_deleted=False)
SHIPPING_METHOD = ReferenceType("shipping method", "shipping_methods")
STATUS = ReferenceType("status", "statuses")
SUBSCRIBER = ReferenceType("subscriber", "subscribers")
TAX = ReferenceType("tax", "taxes")
THREAD = ReferenceType("discussion", "discussion_threads", soft_deleted=False)
USER = ReferenceType("user", "users")
USERGROUP = ReferenceType("usergroup", "usergroups")
VARIATION_GROUP = ReferenceType("variation group", "variation_groups")
VENDOR = ReferenceType("vendor", "vendors")
WAREHOUSE = ReferenceType("warehouse", "warehouses")

BY_TABLE = {type_.table: type_ for type_ in list(vars().values()) if isinstance(type_, ReferenceType)}

VENDOR_ACCOUNT = ReferenceType("vendor", "vendors", soft_deleted=False)
"""A vendor as the owner of its account in the ledger, which stays when it is deleted; others refer to a `VENDOR`."""


async def find(scope: Scope, reference_type: ReferenceType, subject: object) -> int:
    """Return the internal id of the subject of a request, or raise NotFound."""
    ids = await find_ids(scope, reference_type, [subject])
    if subject not in ids:
        raise NotFound(reference_type.name)
    return ids[subject]


async def resolve(scope: Scope, reference_type: ReferenceType, reference: object, *, field: str) -> int:
    """Return the internal id of a record that `field` refers to, or raise ValidationFailed naming both."""
    return (await resolve_all(scope, reference_type, [reference], field=field))[reference]


async def resolve_optional(scope: Scope, reference_type: ReferenceType, reference: object, *, field: str) -> int | None:
    """Resolve a nullable reference."""
    return None if reference is None else await resolve(scope, reference_type, reference, field=field)


async def resolve_all(
    scope: Scope, reference_type: ReferenceType, references: Iterable[object], *, field: str
) -> dict[object, int]:
    """Return the internal id of each reference, in one statement, or raise ValidationFailed naming the missing ones."""
    wanted = list(dict.fromkeys(references))
    ids = await find_ids(scope, reference_type, wanted)
    reject_missing(reference_type, [reference for reference in wanted if reference not in ids], field=field)
    return ids


def reject_missing(reference_type: ReferenceType, missing: list[object], *, field: str) -> None:
    """Raise ValidationFailed if there are references without a record."""
    if missing:
        raise ValidationFailed(missing_message(reference_type, missing), field=field, code=NOT_FOUND)


def missing_message(reference_type: ReferenceType, missing: list[object]) -> str:
    """Return the error message for references without a record."""
    named = ", ".join(_display(reference) for reference in missing[:_MAX_IN_MESSAGE])
    more = f" and {len(missing) - _MAX_IN_MESSAGE} more" if len(missing) > _MAX_IN_MESSAGE else ""
    return f"{reference_type.name} {named}{more} not found"


async def find_ids(scope: Scope, reference_type: ReferenceType, references: Iterable[object]) -> dict[object, int]:
    """Return the internal ids of those references that name an existing record of the store."""
    parsed = {reference: parse_reference(reference) for reference in references}
    numbers, public_ids = split_references([key for key in parsed.values() if key is not None])
    if not numbers and not public_ids:
        return {}
    ids: dict[Reference, int] = {}
    for row in await fetch(reference_type.sql, scope.store.id, numbers, public_ids):
        ids[row["id"]] = ids[row["public_id"]] = row["id"]
    return {reference: ids[key] for reference, key in parsed.items() if key is not None and key in ids}


async def find_public_ids(scope: Scope, type_: ReferenceType, numbers: Iterable[int]) -> dict[int, UUID]:
    """Return the public ids of records by their internal ones, deleted records included."""
    sql = f"SELECT id, public_id FROM {type_.table} WHERE tenant_id = $1 AND id = ANY($2::bigint[])"  # a constant of this module
    return {row["id"]: row["public_id"] for row in await fetch(sql, scope.store.id, list(numbers))}


def _display(reference: object) -> str:
    return str(reference) if isinstance(reference, int | UUID) else repr_value(reference)
