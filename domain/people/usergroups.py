"""Create and update usergroups and their members; no one can grant through a group a privilege they lack.

A group of type `A` is for administrators and grants its privileges to active members; one of type `C` has none
(docs/reference/shared.md#privileges).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth import privileges
from auth.credential_cache import invalidate_credentials
from domain.people.accounts import account_of, lock_user
from kernel.codes import CATEGORY_STATUSES, MEMBERSHIP_STATUSES
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, name_text, one_of, read_fields
from kernel.ids import Reference, uuid7
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit, references
from models.connection import database
from models.rows import delete_rows, insert_row, update_row

USERGROUP = references.USERGROUP
# Written under the lock of the user.
_MEMBERSHIP_STATUS = (
    "SELECT status FROM usergroup_memberships WHERE tenant_id = $1 AND usergroup_id = $2 AND user_id = $3"
)


@dataclass(frozen=True, slots=True)
class UsergroupRef:
    """The id and public id of a usergroup."""

    id: int
    public_id: UUID


def _privileges(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InvalidValue(f"is {repr_value(value)}; expected a list of privileges")
    unknown = sorted(set(value) - privileges.ALL)
    if unknown:
        raise InvalidValue(f"holds {repr_value(unknown[0])}, which is no privilege")
    return sorted(set(value))


FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, "name_invalid", required="name_required"),
    "type": InputField("type", one_of("A", "C"), "type_invalid"),
    # A usergroup has the statuses of a category: active, disabled, hidden.
    "status": InputField("status", code_in(CATEGORY_STATUSES), "status_invalid"),
    "privileges": InputField("privileges", _privileges, "privilege_unknown"),
}


async def create_usergroup(scope: Scope, values: InputValues) -> UsergroupRef:
    """Create a usergroup from `name`, `type`, `status` and, for type `A`, `privileges`."""
    privileges.check_may_edit_users(scope)
    group = {"type": "C", "status": "A", "privileges": []} | read_fields(FIELDS, values, creating=True)
    _check_privileges_fit(group)
    privileges.check_may_grant_privileges(scope, group["privileges"])
    public_id = uuid7()
    async with database.transaction(scope):
        times: dict[str, Any] = {"created_at": scope.now, "updated_at": scope.now}
        group_id = await insert_row(scope, "usergroups", public_id=public_id, **group, **times)
        await audit.record(scope, "usergroup.created", "usergroup", public_id, {"privileges": group["privileges"]})
    return UsergroupRef(group_id, public_id)


async def update_usergroup(scope: Scope, usergroup: Reference | str, values: InputValues) -> UsergroupRef:
    """Update a usergroup partially; a change to type `C` removes its privileges.

    Raises `InsufficientPrivileges` if its members would gain a privilege that the caller lacks.
    """
    privileges.check_may_edit_users(scope)
    columns = read_fields(FIELDS, values)
    async with database.transaction(scope):
        row = await _lock(scope, usergroup)
        group = dict(row) | columns
        if group["type"] == "C" and row["type"] == "A" and "privileges" not in columns:
            group["privileges"] = []
        _check_privileges_fit(group)
        privileges.check_may_grant_privileges(scope, _granted_by(group) - _granted_by(dict(row)))
        # A disabled group grants nothing, but the person who enables it later may not notice the new privileges.
        privileges.check_may_grant_privileges(scope, set(group["privileges"]) - set(row["privileges"]))
        written = {name: group[name] for name in FIELDS}
        if await update_row(scope, "usergroups", row["id"], **written, updated_at=scope.now):
            await audit.record(scope, "usergroup.updated", "usergroup", row["public_id"], {"changed": sorted(columns)})
            await invalidate_credentials(scope)
    return UsergroupRef(row["id"], row["public_id"])


async def delete_usergroup(scope: Scope, usergroup: Reference | str) -> None:
    """Delete a usergroup with its memberships and its places in warehouses, but for exclusive ones; its members lose its privileges."""
    privileges.check_may_edit_users(scope)
    async with database.transaction(scope):
        row = await _lock(scope, usergroup)
        await delete_rows(scope, "usergroup_memberships", usergroup_id=row["id"])
        # Exclusive places stay, until they are removed from the warehouse: without them it would serve everybody.
        await delete_rows(scope, "warehouse_usergroups", usergroup_id=row["id"], allocation_type="P")
        await update_row(scope, "usergroups", row["id"], deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "usergroup.deleted", "usergroup", row["public_id"])
        await invalidate_credentials(scope)


async def set_membership(scope: Scope, user: Reference | str, usergroup: Reference | str, status: str) -> int:
    """Set a user's membership in a group: `A` active, `F` available, `P` pending, `D` declined; return the user's internal id.

    Raises `NotFound` for either, `InsufficientPrivileges` if the group has more privileges than the caller, and `RuleViolation` for a user
    who is not an administrator in a group of type `A`.
    """
    status_code = read_fields(_MEMBERSHIP, {"status": status})["status"]
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await lock_user(scope, user_id)
        group = await _lock(scope, usergroup)
        account = await account_of(scope, user_id)
        _check_may_set_membership(scope, account, group, status_code)
        if await database.fetchval(_MEMBERSHIP_STATUS, scope.store.id, group["id"], user_id) == status_code:
            return user_id
        await insert_row(
            scope,
            "usergroup_memberships",
            usergroup_id=group["id"],
            user_id=user_id,
            status=status_code,
            created_at=scope.now,
            conflict="ON CONFLICT (tenant_id, usergroup_id, user_id) DO UPDATE SET status = excluded.status",
        )
        details = {"usergroup": str(group["public_id"]), "status": status_code}
        await audit.record(scope, "membership.set", "user", account.public_id, details)
        await invalidate_credentials(scope, user_id)
    return user_id


async def delete_membership(scope: Scope, user: Reference | str, usergroup: Reference | str) -> int:
    """Delete a user's membership in a group, whatever its status; return the user's internal id.

    Raises `NotFound` for the user, the group, or a user who isn't in it, and `InsufficientPrivileges` as `set_membership` does.
    """
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await lock_user(scope, user_id)
        group = await _lock(scope, usergroup)
        account = await account_of(scope, user_id)
        _check_may_set_membership(scope, account, group, "D")
        if not await database.fetchval(_DELETE_MEMBERSHIP, scope.store.id, group["id"], user_id):
            raise NotFound("usergroup membership")
        await audit.record(
            scope, "membership.deleted", "user", account.public_id, {"usergroup": str(group["public_id"])}
        )
        await invalidate_credentials(scope, user_id)
    return user_id


_DELETE_MEMBERSHIP = (
    "DELETE FROM usergroup_memberships WHERE tenant_id = $1 AND usergroup_id = $2 AND user_id = $3 RETURNING user_id"
)
_MEMBERSHIP = {"status": InputField("status", code_in(MEMBERSHIP_STATUSES), "status_invalid")}


def _check_may_set_membership(scope: Scope, account: privileges.AccountRights, group: Record, status_code: str) -> None:
    privileges.check_may_edit_users(scope)
    if group["type"] == "A" or account.is_owner:
        privileges.check_may_manage_user(scope, account)
    if group["type"] == "A" and status_code != "D":
        if account.user_type != "A":
            raise RuleViolation("the usergroup is for administrators", reason="usergroup_for_administrators")
        privileges.check_may_grant_privileges(scope, group["privileges"])


def _granted_by(group: Mapping[str, Any]) -> frozenset[str]:
    """Return the privileges that the group grants to active members."""
    is_granting = group["type"] == "A" and group["status"] == "A"
    return frozenset(group["privileges"]) if is_granting else frozenset()


def _check_privileges_fit(group: Mapping[str, Any]) -> None:
    if group["type"] != "A" and group["privileges"]:
        raise ValidationFailed(
            "privileges are for usergroups of type A", field="privileges", code="privileges_not_allowed"
        )


async def _lock(scope: Scope, usergroup: Reference | str) -> Record:
    group_id = await references.find(scope, USERGROUP, usergroup)
    row = await database.fetchrow(
        "select * from usergroups where tenant_id = $1 and id = $2 and deleted_at is null for update",
        scope.store.id,
        group_id,
    )
    if row is None:
        raise NotFound(USERGROUP.name)
    return row
