"""Make and change the accounts of administrators, vendors and customers (decisions section 3, Privileges and More).

A change of password, state or type ends what the user is signed in with, in the same transaction. The row of the user is always
written before its sessions are ended: a sign-in that is under way waits for the row and then finds itself refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth import privileges, sessions
from auth.credential_cache import changed
from auth.passwords import hash_password
from domain import audit, events, references
from domain.fields import Given, read_fields
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.people.account_fields import FIELDS, GUARDED, OWN_FIELDS, with_name_split
from kernel.errors import InsufficientPrivileges, NotFound, RuleViolation, ValidationFailed
from kernel.ids import Reference, uuid7
from kernel.scope import ActorKind, Scope
from models import database

_COLUMNS = (
    "email",
    "password_hash",
    "user_type",
    "status",
    "firstname",
    "lastname",
    "company_name",
    "phone",
    "cpf",
    "cnpj",
    "vendor_id",
    "privileges",
    "password_changed_at",
)
_NEW = {
    "user_type": "C",
    "status": "A",
    "firstname": "",
    "lastname": "",
    "company_name": "",
    "privileges": [],
}

# Whoever may take the last administrator away waits here, before any row is locked, so that two can't do it to each other.
_ADMINISTRATORS = "select pg_advisory_xact_lock(hashtextextended('administrators:' || $1::text, 0))"


@dataclass(frozen=True, slots=True)
class UserRef:
    """Name a user by its number and its public id."""

    id: int
    public_id: UUID


async def create_user(scope: Scope, given: Given, *, verified: bool = True) -> UserRef:
    """Make a user and tell of it (`user.registered`); a new administrator holds no privilege.

    `given` may hold `email` (required), `password`, `user_type`, `status`, `firstname`, `lastname` or `name`, `phone`, `cpf`, `cnpj`,
    `vendor_id` and `company_name`. Unless `verified`, the e-mail must be confirmed before the user may sign in. Raises
    `ValidationFailed` (`email_taken` for an e-mail that another user has).
    """
    privileges.check_may_edit_users(scope)
    draft = await drafted(scope, read_fields(FIELDS, with_name_split(given), creating=True))
    async with database.transaction(scope):
        draft["vendor_id"] = await _vendor_of(scope, given, None)
        return await add_user(scope, draft, verified=verified)


async def drafted(scope: Scope, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Give the whole row of a new user from the columns that were read; hashes the password, so not in a transaction."""
    return {**dict.fromkeys(_COLUMNS), **_NEW, **await _hashed(scope, columns)}


async def add_user(scope: Scope, user: Mapping[str, Any], *, verified: bool) -> UserRef:
    """Write a drafted user and tell of it; joins the open transaction. Raises `ValidationFailed` (`email_taken`)."""
    _check_may_make(scope, user["user_type"])
    _check_vendor(user)
    public_id = uuid7()
    async with database.transaction(scope):
        user_id = await _insert(scope, public_id, user, verified=verified)
        name = f"{user['firstname']} {user['lastname']}".strip()
        await events.user_registered(scope, public_id, name, user["email"], user["user_type"], scope.now)
        await audit.record(scope, "user.created", "user", public_id, {"user_type": user["user_type"]})
    return UserRef(user_id, public_id)


async def update_user(scope: Scope, user: Reference | str, given: Given) -> UserRef:
    """Change what is given of a user: an administrator of users anything, everybody else their own name and credentials.

    Fields beyond that are ignored for vendors and customers (decisions-legacy section 4) and refused to administrators. Raises
    `NotFound`, `ValidationFailed`, `InsufficientPrivileges`, and `RuleViolation` for the owner's and the last administrator's state.
    """
    user_id = await references.find(scope, references.USER, user)
    given = _permitted(scope, user_id, given)
    columns = await _hashed(scope, read_fields(FIELDS, with_name_split(given)))
    async with database.transaction(scope):
        if columns.keys() & {"status", "user_type"}:
            await lock_administrators(scope)
        row = await lock_user(scope, user_id)
        if "vendor_id" in given:
            columns["vendor_id"] = await _vendor_of(scope, given, row["vendor_id"])
        differing = {name: value for name, value in columns.items() if value != row[name]}
        if differing:
            await _change(scope, row, differing)
    return UserRef(user_id, row["public_id"])


async def set_privileges(scope: Scope, user: Reference | str, names: list[str]) -> UserRef:
    """Give an administrator exactly these privileges of its own, besides those of its groups.

    Raises `InsufficientPrivileges` for one that the caller doesn't hold, or a user who holds more than the caller.
    """
    wanted = privileges.check_names(names)
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        row = await lock_user(scope, user_id)
        account = await account_of(scope, user_id)
        privileges.check_may_edit_users(scope)
        privileges.check_may_manage_user(scope, account)
        privileges.check_may_grant(scope, wanted - account.own)
        if account.user_type != "A":
            raise RuleViolation("only administrators hold privileges", reason="not_an_administrator")
        await _write(scope, row, {"privileges": sorted(wanted)})
        await audit.record(
            scope, "user.privileges_set", "user", row["public_id"], {"privileges": sorted(wanted)}
        )
        await changed(scope, user_id)
    return UserRef(user_id, row["public_id"])


async def account_of(scope: Scope, user_id: int) -> privileges.AccountRights:
    """Give the user as the access rules see it; raises `NotFound`."""
    account = await privileges.account(scope, user_id)
    if account is None:
        raise NotFound("user")
    return account


async def lock_user(scope: Scope, user_id: int) -> Record:
    """Give the row of a user and keep others from changing it until the transaction ends; raises `NotFound`."""
    row = await database.row(
        "select * from users where tenant_id = $1 and id = $2 and deleted_at is null for update",
        scope.store.id,
        user_id,
    )
    if row is None:
        raise NotFound("user")
    return row


async def lock_administrators(scope: Scope) -> None:
    """Wait for every other change that could take an administrator away; comes before any row is locked."""
    await database.execute(_ADMINISTRATORS, str(scope.store.id))


async def check_not_needed(scope: Scope, account: privileges.AccountRights) -> None:
    """Refuse to take away the owner or the last active administrator (decisions section 1, Deleting)."""
    if account.is_owner:
        raise RuleViolation(
            "the owner of the store can't be removed, disabled or given another type", reason="owner"
        )
    if account.user_type != "A":
        return
    others = await database.value(
        """
        select count(*) from users
        where tenant_id = $1 and user_type = 'A' and status = 'A' and deleted_at is null and id <> $2
        """,
        scope.store.id,
        account.id,
    )
    if not others:
        raise RuleViolation(
            "the last administrator can't be removed, disabled or given another type", reason="last_admin"
        )


def _permitted(scope: Scope, user_id: int, given: Given) -> Given:
    """Give what the caller may change of the user; the rest is ignored or refused."""
    actor = scope.actor
    administers = actor.holds("manage_users") or actor.kind is ActorKind.APP
    if actor.is_user and actor.user_id == user_id and not administers:
        if actor.kind is ActorKind.ADMIN and given.keys() - OWN_FIELDS:
            raise InsufficientPrivileges("manage_users")
        return {name: value for name, value in given.items() if name in OWN_FIELDS}
    privileges.check_may_edit_users(scope)
    return given


def _check_may_make(scope: Scope, user_type: str) -> None:
    """Refuse to let an app make administrators, who could then do what it can't."""
    if user_type == "A" and scope.actor.kind is ActorKind.APP:
        raise InsufficientPrivileges()


async def _change(scope: Scope, row: Record, differing: Mapping[str, Any]) -> None:
    account = await account_of(scope, row["id"])
    # Nobody but the owner changes the owner, not even the name.
    if differing.keys() & GUARDED or account.is_owner:
        privileges.check_may_manage_user(scope, account)
    values = dict(differing)
    if "user_type" in values:
        await _check_new_type(scope, account, values["user_type"])
        values["privileges"] = []
    if values.get("status", "A") != "A":
        await check_not_needed(scope, account)
    if "password_hash" in values:
        values["password_changed_at"] = scope.now
    _check_vendor({**dict(row), **values})
    await _write(scope, row, values)
    if "user_type" in values:
        await _leave_groups_of_administrators(scope, account.id)
    await audit.record(scope, "user.updated", "user", account.public_id, {"changed": sorted(differing)})
    if row["status"] == "P" and values.get("status") == "A" and values.get("email", row["email"]):
        await outbox.queue(scope, MailType.ACCOUNT_APPROVED, outbox.recipient_of({**dict(row), **values}))
    reason = _end_reason(values)
    if reason is not None:
        await sessions.end_all_sessions(scope, account.id, reason)
    await changed(scope, account.id)


async def _check_new_type(scope: Scope, account: privileges.AccountRights, user_type: str) -> None:
    _check_may_make(scope, user_type)
    if account.user_type == "A":
        await check_not_needed(scope, account)


def _end_reason(values: Mapping[str, Any]) -> str | None:
    """Say why the user's sessions end, if they do (decisions section 3, More)."""
    if values.get("status", "A") != "A":
        return sessions.DISABLED
    if "user_type" in values:
        return sessions.TYPE_CHANGED
    return sessions.PASSWORD_CHANGED if "password_hash" in values else None


async def _leave_groups_of_administrators(scope: Scope, user_id: int) -> None:
    """Take the user out of groups with privileges: a new administrator has none, and others have no use for them."""
    await database.execute(
        """
        delete from usergroup_memberships m using usergroups g
        where m.tenant_id = $1 and m.user_id = $2 and g.tenant_id = m.tenant_id and g.id = m.usergroup_id and g.type = 'A'
        """,
        scope.store.id,
        user_id,
    )


def _check_vendor(user: Mapping[str, Any]) -> None:
    if user["user_type"] == "V" and user["vendor_id"] is None:
        raise ValidationFailed(
            "vendor_id is required for a user of type V", field="vendor_id", code="required"
        )


async def _vendor_of(scope: Scope, given: Given, present: int | None) -> int | None:
    """Resolve the vendor given; null, an empty text and legacy's 0 mean none."""
    if "vendor_id" not in given:
        return present
    reference = given["vendor_id"]
    if reference in (None, "", 0, "0"):
        return None
    return await references.resolve(scope, references.VENDOR, reference, field="vendor_id")


async def _hashed(scope: Scope, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Put the hash in the place of the password; done before the transaction, which it would hold open."""
    values = dict(columns)
    password = values.pop("password", None)
    if password is not None:
        values["password_hash"] = await hash_password(password)
        values["password_changed_at"] = scope.now
    return values


async def _insert(scope: Scope, public_id: UUID, user: Mapping[str, Any], *, verified: bool) -> int:
    try:
        user_id: int = await database.value(
            """
            insert into users (
                tenant_id, public_id, created_at, updated_at, email_verified_at,
                email, password_hash, user_type, status, firstname, lastname, company_name, phone, cpf, cnpj, vendor_id,
                privileges, password_changed_at
            ) values ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) returning id
            """,
            scope.store.id,
            public_id,
            scope.now,
            scope.now if verified else None,
            *(user[name] for name in _COLUMNS),
        )
    except database.UniqueViolation as error:
        raise _email_taken(error, user["email"]) from error
    return user_id


async def _write(scope: Scope, row: Record, values: Mapping[str, Any]) -> None:
    user = {**dict(row), **values}
    try:
        await database.execute(
            """
            update users set updated_at = $3,
                email = $4, password_hash = $5, user_type = $6, status = $7, firstname = $8, lastname = $9, company_name = $10,
                phone = $11, cpf = $12, cnpj = $13, vendor_id = $14, privileges = $15, password_changed_at = $16
            where tenant_id = $1 and id = $2
            """,
            scope.store.id,
            row["id"],
            scope.now,
            *(user[name] for name in _COLUMNS),
        )
    except database.UniqueViolation as error:
        raise _email_taken(error, user["email"]) from error


def _email_taken(error: database.UniqueViolation, email: object) -> Exception:
    if database.constraint_of(error) != "users_email_key":
        return error
    return ValidationFailed(f"email is {email!r}, which another user has", field="email", code="email_taken")
