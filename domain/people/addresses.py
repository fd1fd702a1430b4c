"""The saved addresses of users, for their next orders. Orders and carts keep copies, so changing one changes no order.

Changes lock the user's row: the number of addresses and the defaults depend on the others.
"""

from __future__ import annotations

from domain.addresses import ADDRESS, check_address
from domain.people.locks import lock_for_parts
from domain.records import Change, RecordType
from domain.visibility import OwnRows
from kernel.errors import NotFound, RuleViolation
from kernel.geography import BRAZIL
from kernel.ids import parse_uuid
from kernel.scope import Scope
from models.connection.database import execute, fetchrow, fetchval, transaction
from models.reading.queries import Entity
from models.rows import update_row
from models.tables.users import UserAddress

MAX_ADDRESSES = 50
SHIPPING, BILLING = "S", "B"

ADDRESSES = Entity(
    table="user_addresses",
    visible=OwnRows(admin=("view_users",), app="read_users", own="t.user_id = {user}"),
)

_COUNT = "SELECT count(*) FROM user_addresses WHERE tenant_id = $1 AND user_id = $2"
_FIND = "SELECT id FROM user_addresses WHERE tenant_id = $1 AND user_id = $2 AND public_id = $3"
_LOCK = (
    "SELECT country, zipcode, state, name, city, phone FROM user_addresses WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
)
DEFAULT_COLUMNS = {SHIPPING: "is_default_shipping", BILLING: "is_default_billing"}
# One statement could set the new default before it clears the old one, which the unique index refuses.
_CLEAR_DEFAULT = """
UPDATE user_addresses SET {column} = false WHERE tenant_id = $1 AND user_id = $2 AND id <> $3 AND {column}
"""


async def set_default_address(scope: Scope, address: object, type_: str) -> int:
    """Make one of the caller's addresses the default for shipping (`S`) or billing (`B`); return its internal id."""
    async with transaction(scope):
        user_id = await lock_for_parts(scope, scope.own_user_id())
        address_id = await _find_own(scope, address)
        await write_default(scope, user_id, address_id, type_)
    return address_id


async def write_default(scope: Scope, user_id: int, address_id: int, type_: str) -> None:
    """Make an address the default of its user, whose row is locked."""
    column = DEFAULT_COLUMNS[type_]
    await execute(_CLEAR_DEFAULT.format(column=column), scope.store.id, user_id, address_id)
    await update_row(scope, "user_addresses", address_id, **{column: True}, updated_at=scope.now)


async def _find_own(scope: Scope, address: object) -> int:
    public_id = parse_uuid(address)
    row = await fetchrow(_FIND, scope.store.id, scope.own_user_id(), public_id) if public_id is not None else None
    if row is None:
        raise NotFound("address")
    return int(row["id"])


async def _prepare_own(change: Change) -> None:
    if change.is_new:
        change.columns["user_id"] = change.scope.own_user_id()
    await prepare_address(change)


async def prepare_address(change: Change) -> None:
    """Check an address; a new one needs the column of its user."""
    scope = change.scope
    if change.is_new:
        user_id = await lock_for_parts(scope, change.columns["user_id"])
        count = await fetchval(_COUNT, scope.store.id, user_id)
        if count >= MAX_ADDRESSES:
            raise RuleViolation(f"an account has at most {MAX_ADDRESSES} addresses", reason="too_many_addresses")
        is_first = count == 0
        change.columns |= {"is_default_shipping": is_first, "is_default_billing": is_first}
    check_address(change.merged, {} if change.is_new else change.current)


ADDRESS_RECORDS = RecordType(
    UserAddress,
    ADDRESS,
    hard_delete=True,
    lock_row=_LOCK,
    defaults={"country": BRAZIL},
    find=_find_own,
    prepare=_prepare_own,
)
"""The caller's addresses: creates, updates and deletes its own. The first one becomes the default for shipping and billing."""
