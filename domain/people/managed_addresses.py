"""The saved addresses of other users, which those who may edit their accounts change."""

from __future__ import annotations

from dataclasses import replace

from auth.privileges import check_may_manage_user
from domain.people.accounts import account_of
from domain.people.addresses import ADDRESS_RECORDS, prepare_address, write_default
from domain.people.locks import lock_for_parts
from domain.records import Change
from kernel.errors import NotFound
from kernel.ids import parse_uuid
from kernel.scope import Scope
from models.connection.database import fetchrow, transaction
from models.references import USER

_FIND = "SELECT id, user_id FROM user_addresses WHERE tenant_id = $1 AND public_id = $2"


async def set_default_address_of_user(scope: Scope, address: object, type_: str) -> int:
    """Make an address the default of its user for shipping (`S`) or billing (`B`); return its internal id."""
    async with transaction(scope):
        address_id, user_id = await _find_with_user(scope, address)
        await write_default(scope, await lock_for_parts(scope, user_id), address_id, type_)
    return address_id


async def _find(scope: Scope, address: object) -> int:
    return (await _find_with_user(scope, address))[0]


async def _find_with_user(scope: Scope, address: object) -> tuple[int, int]:
    """Return the internal ids of an address and its user. Raises NotFound, and Forbidden for an account that the caller may not edit."""
    public_id = parse_uuid(address)
    row = await fetchrow(_FIND, scope.store.id, public_id) if public_id is not None else None
    if row is None:
        raise NotFound("address")
    await _check_may_manage(scope, row["user_id"])
    return row["id"], row["user_id"]


async def _check_may_manage(scope: Scope, user_id: int) -> None:
    check_may_manage_user(scope, await account_of(scope, user_id))


async def _prepare(change: Change) -> None:
    if change.is_new:
        await _check_may_manage(change.scope, change.columns["user_id"])
    await prepare_address(change)


MANAGED_ADDRESS_RECORDS = replace(
    ADDRESS_RECORDS, references={"user": USER}, required=("user",), find=_find, prepare=_prepare
)
"""The addresses of any user whose account the caller may edit; a new one names its `user`."""
