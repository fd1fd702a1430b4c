"""Make and delete exceptions: variants that can't be bought together (`F`), or the only ones that can (`A`)."""

from __future__ import annotations

from collections.abc import Mapping

from domain import audit
from domain.catalog.combinations import chosen_pairs, usable_options
from domain.catalog.offered import hash_of, owner_named
from domain.catalog.options import offer
from domain.fields import Given, InputField, code_in, read_fields, refuse_wrong
from domain.references import EXCEPTION, find
from kernel.codes import EXCEPTION_TYPES
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models.database import execute, row, transaction, value

EXCEPTION_FIELDS: Mapping[str, InputField] = {
    "type": InputField("type", code_in(EXCEPTION_TYPES), code="type_invalid", required="required"),
}
FORBIDDEN, ALLOWED = "F", "A"

_INSERT = """
WITH made AS (
    INSERT INTO option_exceptions (tenant_id, public_id, product_id, type, hash, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $6)
    ON CONFLICT (tenant_id, product_id, type, hash) DO NOTHING
    RETURNING id
), chosen AS (
    INSERT INTO exception_choices (tenant_id, public_id, exception_id, option_id, variant_id)
    SELECT $1, g.public_id, made.id, g.option_id, g.variant_id
    FROM made, unnest($7::uuid[], $8::bigint[], $9::bigint[]) AS g (public_id, option_id, variant_id)
)
SELECT id FROM made
"""
_SUBJECT = """
SELECT e.id, e.public_id, p.vendor_id FROM option_exceptions e
JOIN products p ON p.tenant_id = e.tenant_id AND p.id = e.product_id
WHERE e.tenant_id = $1 AND e.id = $2
"""


async def create_exception(scope: Scope, given: Given) -> int:
    """Make an exception and give its internal id: `product`*, `type`*, `choices`* (`{option: variant}`).

    Raises ValidationFailed, also for one that exists.
    """
    columns = read_fields(EXCEPTION_FIELDS, given, creating=True)
    async with transaction(scope):
        owner = await owner_named(scope, given.get("product"))
        options = await usable_options(scope, owner, [given])
        pairs, wrong = chosen_pairs(options, given.get("choices"), inventory=False)
        refuse_wrong(wrong)
        public_id = uuid7()
        made: int | None = await value(
            _INSERT,
            scope.store.id,
            public_id,
            owner.id,
            columns["type"],
            hash_of(pairs),
            scope.now,
            [uuid7() for _ in pairs],
            [option for option, _ in pairs],
            [variant for _, variant in pairs],
        )
        if made is None:
            raise ValidationFailed(
                "choices are those of an exception that exists", field="choices", code="exception_exists"
            )
        await offer(scope, [owner.id] * len(pairs), [option for option, _ in pairs])
        await audit.record(scope, "exception.created", "option_exception", public_id)
    return made


async def delete_exception(scope: Scope, exception: object) -> None:
    """Delete an exception; for a vendor, one of another's product isn't there."""
    async with transaction(scope):
        held = await row(_SUBJECT, scope.store.id, await find(scope, EXCEPTION, exception))
        if held is None or (
            scope.actor.kind is ActorKind.VENDOR and held["vendor_id"] != scope.actor.company_id
        ):
            raise NotFound("exception")
        await execute(
            "DELETE FROM option_exceptions WHERE tenant_id = $1 AND id = $2", scope.store.id, held["id"]
        )
        await audit.record(scope, "exception.deleted", "option_exception", held["public_id"])
