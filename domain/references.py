"""Find the records that a caller names by legacy number or public id, within the store and among those not deleted.

The subject of a request that isn't there is `NotFound` (404). A record that the request merely refers to is a mistake in the
request: `ValidationFailed` with the code `not_found` (decisions-legacy section 1: an unknown product, payment or user referred
to is 400). Another store's record is absent in both cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from kernel.errors import NotFound, ValidationFailed
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope
from kernel.text import shown
from models.database import rows

NOT_FOUND = "not_found"
_NAMED_IN_A_MESSAGE = 5


@dataclass(frozen=True, slots=True)
class ReferenceType:
    """Describe records that can be referred to: what people call one, and where it lies."""

    name: str
    table: str
    erasable: bool = True

    @property
    def sql(self) -> str:
        """Give the look-up of many at once; the table's name is one of the constants below."""
        alive = "AND deleted_at IS NULL" if self.erasable else ""
        return (
            f"SELECT id, public_id FROM {self.table} WHERE tenant_id = $1"  # constants of this module
            f" AND (id = ANY($2::bigint[]) OR public_id = ANY($3::uuid[])) {alive}"
        )


ATTACHMENT = ReferenceType("attachment", "attachments", erasable=False)
BLOCK = ReferenceType("block", "blocks")
BOX = ReferenceType("box", "product_boxes")
BOX_DESCRIPTION = ReferenceType("description", "box_descriptions", erasable=False)
BUSINESS_PARTNER = ReferenceType("business partner", "business_partners")
CALL_REQUEST = ReferenceType("call request", "call_requests")
CATEGORY = ReferenceType("category", "categories")
COMBINATION = ReferenceType("combination", "combinations")
DESTINATION = ReferenceType("destination", "destinations")
EXCEPTION = ReferenceType("exception", "option_exceptions", erasable=False)
FEATURE = ReferenceType("feature", "features")
LANGUAGE = ReferenceType("language", "languages")
MANAGER = ReferenceType("manager", "managers")
MIX_PRODUCT = ReferenceType("mix product", "mix_products")
OPTION = ReferenceType("option", "options")
ORDER = ReferenceType("order", "orders")
ORDER_LIMIT = ReferenceType("order limit", "order_limits", erasable=False)
PAGE = ReferenceType("page", "pages")
PAYMENT_CODE = ReferenceType("payment code", "payment_codes")
PAYMENT_METHOD = ReferenceType("payment method", "payment_methods")
PRODUCT = ReferenceType("product", "products")
PROMOTION = ReferenceType("promotion", "promotions")
REVIEW = ReferenceType("review", "discussion_posts", erasable=False)
SHIPMENT = ReferenceType("shipment", "shipments", erasable=False)
SHIPPING_METHOD = ReferenceType("shipping method", "shipping_methods")
STATUS = ReferenceType("status", "statuses")
SUBSCRIBER = ReferenceType("subscriber", "subscribers")
TAX = ReferenceType("tax", "taxes")
THREAD = ReferenceType("discussion", "discussion_threads", erasable=False)
USER = ReferenceType("user", "users")
USERGROUP = ReferenceType("usergroup", "usergroups")
VENDOR = ReferenceType("vendor", "vendors")


async def find(scope: Scope, kind: ReferenceType, subject: object) -> int:
    """Give the internal id of the record a request is about, or raise NotFound."""
    found = await look_up(scope, kind, [subject])
    if subject not in found:
        raise NotFound(kind.name)
    return found[subject]


async def resolve(scope: Scope, kind: ReferenceType, reference: object, *, field: str) -> int:
    """Give the internal id of a record that `field` refers to, or raise ValidationFailed naming both."""
    return (await resolve_all(scope, kind, [reference], field=field))[reference]


async def resolve_optional(scope: Scope, kind: ReferenceType, reference: object, *, field: str) -> int | None:
    """Resolve a reference that may be null."""
    return None if reference is None else await resolve(scope, kind, reference, field=field)


async def resolve_all(
    scope: Scope, kind: ReferenceType, references: Iterable[object], *, field: str
) -> dict[object, int]:
    """Give the internal id of each reference, in one statement, or raise ValidationFailed naming those not found."""
    wanted = list(dict.fromkeys(references))
    found = await look_up(scope, kind, wanted)
    refuse_missing(kind, [reference for reference in wanted if reference not in found], field=field)
    return found


def refuse_missing(kind: ReferenceType, missing: list[object], *, field: str) -> None:
    """Raise ValidationFailed when there are references that name no record."""
    if missing:
        raise ValidationFailed(missing_text(kind, missing), field=field, code=NOT_FOUND)


def missing_text(kind: ReferenceType, missing: list[object]) -> str:
    """Say which references of a kind name no record."""
    named = ", ".join(_written(reference) for reference in missing[:_NAMED_IN_A_MESSAGE])
    more = f" and {len(missing) - _NAMED_IN_A_MESSAGE} more" if len(missing) > _NAMED_IN_A_MESSAGE else ""
    return f"{kind.name} {named}{more} not found"


async def look_up(scope: Scope, kind: ReferenceType, references: Iterable[object]) -> dict[object, int]:
    """Give the internal ids of those references that name a living record of the store."""
    parsed = {given: parse_reference(given) for given in references}
    numbers = [known for known in parsed.values() if isinstance(known, int)]
    public_ids = [known for known in parsed.values() if isinstance(known, UUID)]
    if not numbers and not public_ids:
        return {}
    ids: dict[Reference, int] = {}
    for found in await rows(kind.sql, scope.store.id, numbers, public_ids):
        ids[found["id"]] = ids[found["public_id"]] = found["id"]
    return _by_given(parsed, ids)


def _by_given(parsed: Mapping[object, Reference | None], ids: Mapping[Reference, int]) -> dict[object, int]:
    return {given: ids[known] for given, known in parsed.items() if known is not None and known in ids}


def _written(reference: object) -> str:
    return str(reference) if isinstance(reference, int | UUID) else shown(reference)
