"""Notices to shoppers that a product can be bought again (docs/reference/graphql.md#back-in-stock).

An address is stored once its owner has confirmed by a mailed token, until the one mail is queued. The same token cancels the notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from auth import lockout
from domain.catalog.availability import COMBINATION_IS_AVAILABLE, IS_AVAILABLE
from domain.catalog.listing import OPEN, of_row
from domain.mails import outbox
from domain.mails.outbox import Recipient
from domain.mails.texts import MailType, one_line
from domain.people import sealed_tokens
from domain.people.outreach import SUBSCRIBER_FIELDS
from kernel.errors import RuleViolation
from kernel.fields import InputValues, read_fields
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchrow, fetchval, transaction
from models.references import COMBINATION, PRODUCT, reject_missing

REQUESTED = "a mail says how to confirm the notice"
CONFIRMED = "a mail will say when the product can be bought again"
CANCELLED = "the notice is cancelled"
MAX_OF_ADDRESS = 100
TOKEN_PURPOSE = "stock_notice"

_PRODUCT = f"""
SELECT t.id, t.name, {IS_AVAILABLE} AS is_available FROM products t
WHERE t.tenant_id = $1 AND t.public_id = $2 AND t.deleted_at IS NULL AND {OPEN}
"""
_COMBINATION = f"""
SELECT t.id, {COMBINATION_IS_AVAILABLE} AS is_available FROM combinations t
WHERE t.tenant_id = $1 AND t.product_id = $2 AND t.public_id = $3 AND t.deleted_at IS NULL
"""
_OWN = "tenant_id = $1 AND email = $2 AND product_id = $3 AND coalesce(combination_id, 0) = coalesce($4::bigint, 0)"
_EXISTS = f"SELECT EXISTS (SELECT FROM stock_notices WHERE {_OWN})"
_DELETE = f"DELETE FROM stock_notices WHERE {_OWN}"
_COUNT = "SELECT count(*) FROM stock_notices WHERE tenant_id = $1 AND email = $2"
# Without a row where the product or the combination was erased since.
_INSERT = """
INSERT INTO stock_notices (tenant_id, public_id, email, product_id, combination_id, created_at)
SELECT $1, $5, $2, p.id, c.id, $6 FROM products p LEFT JOIN combinations c ON c.tenant_id = $1 AND c.id = $4::bigint
WHERE p.tenant_id = $1 AND p.id = $3 AND (c.id IS NOT NULL OR $4::bigint IS NULL) ON CONFLICT DO NOTHING
"""
_TAKE = f"""
WITH taken AS (
    DELETE FROM stock_notices WHERE tenant_id = $1 AND id IN (
        SELECT n.id FROM stock_notices n JOIN products t ON t.tenant_id = n.tenant_id AND t.id = n.product_id
        WHERE n.tenant_id = $1 AND CASE WHEN n.combination_id IS NULL THEN {IS_AVAILABLE} ELSE EXISTS (
            SELECT FROM combinations c WHERE c.tenant_id = n.tenant_id AND c.id = n.combination_id AND c.deleted_at IS NULL
                AND {of_row(COMBINATION_IS_AVAILABLE, "c")}
        ) END
        ORDER BY n.id LIMIT $2 FOR UPDATE OF n SKIP LOCKED
    ) RETURNING id, email, product_id
)
SELECT taken.email, p.name FROM taken JOIN products p ON p.tenant_id = $1 AND p.id = taken.product_id ORDER BY taken.id
"""

_NEXT_RELEASE = """
SELECT min(p.available_since) FROM stock_notices n JOIN products p ON p.tenant_id = n.tenant_id AND p.id = n.product_id
WHERE n.tenant_id = $1 AND p.available_since > now()
"""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A product, or a combination of it, and whether it can be bought now."""

    product_id: int
    combination_id: int | None
    name: str
    is_available: bool


async def request_notice(scope: Scope, values: InputValues) -> None:
    """Mail a token that confirms a notice; at most three an hour, and none to an address that waits for the same already.

    Keys: `email`*, `product`*, `combination`. Raises `RateLimited`, `RuleViolation` (`product_available`) and `ValidationFailed`, but never
    for what is known of the address.
    """
    email = str(read_fields({"email": SUBSCRIBER_FIELDS["email"]}, values, creating=True)["email"])
    await lockout.count_attempt(scope, "stock_notice_request")
    async with transaction(scope):
        subject = await _find(scope, values)
        if subject.is_available:
            raise RuleViolation("the product can be bought", reason="product_available")
        await outbox.lock_address(scope, email)
        waits = await fetchval(_EXISTS, scope.store.id, email, subject.product_id, subject.combination_id)
        is_over = await outbox.is_over_hourly_limit_of_address(scope, MailType.STOCK_NOTICE_CONFIRM, email)
        to = None if waits or is_over else Recipient(None, email, email)
        data = {"email": email, "product": subject.product_id, "combination": subject.combination_id}
        token = sealed_tokens.write(scope, TOKEN_PURPOSE, data, sealed_tokens.LIFETIME)
        details = {"product": one_line(subject.name)}
        await outbox.queue_mail(scope, MailType.STOCK_NOTICE_CONFIRM, to, token, details)


async def confirm_notice(scope: Scope, token: str) -> None:
    """Store the notice of a mailed token; raises ValidationFailed (`token_invalid`) and RuleViolation `too_many_notices`."""
    data = sealed_tokens.read(scope, TOKEN_PURPOSE, token)
    sealed_tokens.check_time(scope, data)
    email = data["email"]
    async with transaction(scope):
        await outbox.lock_address(scope, email)
        if await fetchval(_COUNT, scope.store.id, email) >= MAX_OF_ADDRESS:
            raise RuleViolation(f"an address waits for at most {MAX_OF_ADDRESS} products", reason="too_many_notices")
        await execute(_INSERT, scope.store.id, email, data["product"], data["combination"], uuid7(), scope.now)


async def cancel_notice(scope: Scope, token: str) -> None:
    """Delete the notice of a mailed token, whatever its age; raises ValidationFailed (`token_invalid`)."""
    data = sealed_tokens.read(scope, TOKEN_PURPOSE, token)
    await execute(_DELETE, scope.store.id, data["email"], data["product"], data["combination"])


async def send_notices(scope: Scope, *, limit: int = 500) -> int:
    """Queue the mails of notices whose products can be bought, and delete these notices; return how many."""
    async with transaction(scope):
        rows = await fetch(_TAKE, scope.store.id, limit)
        for row in rows:
            to = Recipient(None, row["email"], row["email"])
            await outbox.queue_mail(scope, MailType.STOCK_NOTICE, to, details={"product": one_line(row["name"])})
    return len(rows)


async def next_release(scope: Scope) -> datetime | None:
    """Return when the next product with waiting customers is released: no row changes then."""
    at: datetime | None = await fetchval(_NEXT_RELEASE, scope.store.id)
    return at


async def _find(scope: Scope, values: InputValues) -> _Subject:
    """Return what a notice is about; raises ValidationFailed for what the caller can't open."""
    product, combination = values["product"], values.get("combination")
    row = await fetchrow(_PRODUCT, scope.store.id, parse_uuid(product))
    if row is None:
        reject_missing(PRODUCT, [product], field="product_id")
    assert row is not None  # refused otherwise
    if combination is None:
        return _Subject(row["id"], None, row["name"], row["is_available"])
    chosen = await fetchrow(_COMBINATION, scope.store.id, row["id"], parse_uuid(combination))
    if chosen is None:
        reject_missing(COMBINATION, [combination], field="combination_id")
    assert chosen is not None  # refused otherwise
    return _Subject(row["id"], chosen["id"], row["name"], chosen["is_available"])
