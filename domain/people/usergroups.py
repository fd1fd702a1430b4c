"""Make and change usergroups and who belongs to them; through a group nobody gives a privilege they don't hold.

A group of type `A` is for administrators and gives its privileges to active members; one of type `C` has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth import privileges
from auth.credential_cache import changed
from domain import audit, references
from domain.fields import Given, InputField, code_in, name_text, one_of, read_fields
from domain.people.accounts import account_of, lock_user
from kernel.codes import CATEGORY_STATUSES, MEMBERSHIP_STATUSES
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.ids import Reference, uuid7
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models import database

USERGROUP = references.USERGROUP


@dataclass(frozen=True, slots=True)
class UsergroupRef:
    """Name a usergroup by its number and its public id."""

    id: int
    public_id: UUID


def _privileges(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise Malformed(f"is {shown(value)}; expected a list of privileges")
    unknown = sorted(set(value) - privileges.ALL)
    if unknown:
        raise Malformed(f"holds {shown(unknown[0])}, which is no privilege")
    return sorted(set(value))


FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, "name_invalid", required="name_required"),
    "type": InputField("type", one_of("A", "C"), "type_invalid"),
    # A usergroup has the letters of a category: active, disabled, hidden.
    "status": InputField("status", code_in(CATEGORY_STATUSES), "status_invalid"),
    "privileges": InputField("privileges", _privileges, "privilege_unknown"),
}


async def create_usergroup(scope: Scope, given: Given) -> UsergroupRef:
    """Make a usergroup from `name`, `type`, `status` and, for type `A`, `privileges`."""
    privileges.check_may_edit_users(scope)
    group = {"type": "C", "status": "A", "privileges": []} | read_fields(FIELDS, given, creating=True)
    _check_privileges_fit(group)
    privileges.check_may_grant(scope, group["privileges"])
    public_id = uuid7()
    async with database.transaction(scope):
        group_id = await database.value(
            """
            insert into usergroups (tenant_id, public_id, name, type, status, privileges, created_at, updated_at)
            values ($1, $2, $3, $4, $5, $6, $7, $7) returning id
            """,
            scope.store.id,
            public_id,
            group["name"],
            group["type"],
            group["status"],
            group["privileges"],
            scope.now,
        )
        await audit.record(
            scope, "usergroup.created", "usergroup", public_id, {"privileges": group["privileges"]}
        )
    return UsergroupRef(group_id, public_id)


async def update_usergroup(scope: Scope, usergroup: Reference | str, given: Given) -> UsergroupRef:
    """Change what is given of a usergroup; a change to type `C` takes its privileges away.

    Raises `InsufficientPrivileges` when its members would gain a privilege that the caller doesn't hold.
    """
    privileges.check_may_edit_users(scope)
    columns = read_fields(FIELDS, given)
    async with database.transaction(scope):
        row = await _lock(scope, usergroup)
        group = dict(row) | columns
        if group["type"] == "C" and row["type"] == "A" and "privileges" not in columns:
            group["privileges"] = []
        _check_privileges_fit(group)
        privileges.check_may_grant(scope, _given_by(group) - _given_by(dict(row)))
        # A disabled group gives nothing yet, but whoever turns it on later may not see what was put into it.
        privileges.check_may_grant(scope, set(group["privileges"]) - set(row["privileges"]))
        await database.execute(
            """
            update usergroups set name = $3, type = $4, status = $5, privileges = $6, updated_at = $7
            where tenant_id = $1 and id = $2
            """,
            scope.store.id,
            row["id"],
            group["name"],
            group["type"],
            group["status"],
            group["privileges"],
            scope.now,
        )
        await audit.record(
            scope, "usergroup.updated", "usergroup", row["public_id"], {"changed": sorted(columns)}
        )
        await changed(scope)
    return UsergroupRef(row["id"], row["public_id"])


async def delete_usergroup(scope: Scope, usergroup: Reference | str) -> None:
    """Delete a usergroup; its members lose what it gave them."""
    privileges.check_may_edit_users(scope)
    async with database.transaction(scope):
        row = await _lock(scope, usergroup)
        await database.execute(
            "update usergroups set deleted_at = $3, updated_at = $3 where tenant_id = $1 and id = $2",
            scope.store.id,
            row["id"],
            scope.now,
        )
        await audit.record(scope, "usergroup.deleted", "usergroup", row["public_id"])
        await changed(scope)


async def set_membership(
    scope: Scope, user: Reference | str, usergroup: Reference | str, status: str
) -> None:
    """Set a user's place in a group: `A` active, `F` available, `P` pending, `D` declined.

    Raises `NotFound` for either, `InsufficientPrivileges` when the group holds more than the caller, and `RuleViolation` for somebody
    else than an administrator in a group of type `A`.
    """
    letter = read_fields(_MEMBERSHIP, {"status": status})["status"]
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await lock_user(scope, user_id)
        group = await _lock(scope, usergroup)
        account = await account_of(scope, user_id)
        _check_may_place(scope, account, group, letter)
        await database.execute(
            """
            insert into usergroup_memberships (tenant_id, public_id, usergroup_id, user_id, status, created_at)
            values ($1, $2, $3, $4, $5, $6)
            on conflict (tenant_id, usergroup_id, user_id) do update set status = excluded.status
            """,
            scope.store.id,
            uuid7(),
            group["id"],
            user_id,
            letter,
            scope.now,
        )
        details = {"usergroup": str(group["public_id"]), "status": letter}
        await audit.record(scope, "membership.set", "user", account.public_id, details)
        await changed(scope, user_id)


_MEMBERSHIP = {"status": InputField("status", code_in(MEMBERSHIP_STATUSES), "status_invalid")}


def _check_may_place(scope: Scope, account: privileges.AccountRights, group: Record, letter: str) -> None:
    privileges.check_may_edit_users(scope)
    if group["type"] == "A" or account.is_owner:
        privileges.check_may_manage_user(scope, account)
    if group["type"] == "A" and letter != "D":
        if account.user_type != "A":
            raise RuleViolation("the usergroup is for administrators", reason="usergroup_for_administrators")
        privileges.check_may_grant(scope, group["privileges"])


def _given_by(group: Mapping[str, Any]) -> frozenset[str]:
    """Give the privileges that active members have through the group."""
    gives = group["type"] == "A" and group["status"] == "A"
    return frozenset(group["privileges"]) if gives else frozenset()


def _check_privileges_fit(group: Mapping[str, Any]) -> None:
    if group["type"] != "A" and group["privileges"]:
        raise ValidationFailed(
            "privileges are for usergroups of type A", field="privileges", code="privileges_not_allowed"
        )


async def _lock(scope: Scope, usergroup: Reference | str) -> Record:
    group_id = await references.find(scope, USERGROUP, usergroup)
    row = await database.row(
        "select * from usergroups where tenant_id = $1 and id = $2 and deleted_at is null for update",
        scope.store.id,
        group_id,
    )
    if row is None:
        raise NotFound(USERGROUP.name)
    return row
