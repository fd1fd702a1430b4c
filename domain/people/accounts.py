"""Create and update the accounts of administrators, vendors and customers (docs/reference/current.md#account-states).

A change of password, status or type revokes the user's sessions in the same transaction. The user's row is always updated before its
sessions are revoked: a concurrent sign-in waits for the row lock and is then refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth import lockout, privileges, sessions
from auth.credential_cache import invalidate_credentials
from auth.passwords import hash_password
from domain import events, record_events
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.media.images import image_columns
from domain.people.account_fields import ACCOUNT_FIELDS, GUARDED, OWN_FIELDS, STORED_FIELDS, split_name
from domain.people.profile_addresses import PROFILE_ADDRESSES, read_profile_addresses, write_profile_addresses
from domain.points.ledger import ADJUSTED, Movement, write_entries
from kernel.errors import InsufficientPrivileges, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.ids import Reference, uuid7
from kernel.scope import ActorKind, Scope
from models import audit, references
from models.connection import database
from models.numbers import take_number
from models.rows import insert_row, update_row

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
    "image_url",
    "image_alt",
    "media_id",
)
_TEXTS = ("firstname", "lastname", "company_name", "image_url", "image_alt")
_NEW = {"user_type": "C", "status": "A", **dict.fromkeys(_TEXTS, ""), "privileges": []}

# Changes that could remove the last administrator are serialized here, before any row lock, so that two can't remove each other.
_LOCK_ADMINISTRATORS = "select pg_advisory_xact_lock(hashtextextended('administrators:' || $1::text, 0))"


@dataclass(frozen=True, slots=True)
class UserRef:
    """The id and public id of a user."""

    id: int
    public_id: UUID


async def create_user(scope: Scope, values: InputValues, *, verified: bool = True) -> UserRef:
    """Create a user and emit `user.registered`; a new administrator has no privileges.

    `values` may have `email` (required), `password`, `user_type`, `status`, `firstname`, `lastname` or `name`, `phone`, `cpf`, `cnpj`,
    `vendor_id`, `company_name` and `image`. Unless `verified`, the e-mail must be confirmed before the user can sign in. Raises
    `ValidationFailed` (`email_taken` for an existing e-mail).
    """
    privileges.check_may_edit_users(scope)
    addresses = read_profile_addresses(values)
    draft = await prepare_user(scope, read_fields(ACCOUNT_FIELDS, split_name(values), creating=True))
    async with database.transaction(scope):
        draft["vendor_id"] = await _resolve_vendor(scope, values, None)
        draft |= await image_columns(scope, values, "users", 0)
        user = await add_user(scope, draft, verified=verified)
        await write_profile_addresses(scope, user.id, addresses)
        return user


async def prepare_user(scope: Scope, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete row of a new user from validated columns; hashes the password, so not to be called in a transaction."""
    return {**dict.fromkeys(_COLUMNS), **_NEW, **await _with_password_hash(scope, columns)}


async def add_user(scope: Scope, user: Mapping[str, Any], *, verified: bool) -> UserRef:
    """Insert a prepared user and emit the event; joins the current transaction. Raises `ValidationFailed` (`email_taken`)."""
    _check_may_create(scope, user["user_type"])
    _check_vendor(user)
    public_id = uuid7()
    async with database.transaction(scope):
        user_id = await _insert(scope, public_id, user, verified=verified)
        if user.get("points"):
            await _set_points(scope, user_id, 0, user["points"])
        name = f"{user['firstname']} {user['lastname']}".strip()
        await events.emit_user_registered(scope, {**user, "public_id": public_id, "name": name})
        await audit.record(scope, "user.created", "user", public_id, {"user_type": user["user_type"]})
    return UserRef(user_id, public_id)


async def update_user(scope: Scope, user: Reference | str, values: InputValues) -> UserRef:
    """Update a user partially: user administrators can change anything, others their own name, phone and picture.

    Other fields are ignored for vendors and customers, and refused to administrators without `manage_users`; one's own password and e-mail
    change only by `own_account`. Raises `NotFound`, `ValidationFailed`, `InsufficientPrivileges`, and `RuleViolation` for the status or
    type of the owner and the last administrator.
    """
    user_id = await privileges.find_user_to_edit(scope, user)
    values = _permitted_values(scope, user_id, values)
    fields, addresses = read_fields(STORED_FIELDS, split_name(values)), read_profile_addresses(values)
    if privileges.is_own_account(scope, user_id):
        await _check_own_credentials(scope, user_id, fields)
    columns = await _with_password_hash(scope, fields)
    async with database.transaction(scope):
        if columns.keys() & {"status", "user_type"}:
            await lock_administrators(scope)
        row = await lock_user(scope, user_id)
        if "vendor_id" in values:
            columns["vendor_id"] = await _resolve_vendor(scope, values, row["vendor_id"])
        columns |= await image_columns(scope, values, "users", user_id)
        changes = {name: value for name, value in columns.items() if value != row[name]}
        read_fields({"phone": ACCOUNT_FIELDS["phone"]}, changes)
        if changes:
            await _apply_changes(scope, row, changes)
        if changed := await write_profile_addresses(scope, user_id, addresses):
            privileges.check_may_change_owner(scope, user_id)
            details = {"changed": [name for name, type_ in PROFILE_ADDRESSES.items() if type_ in changed]}
            await audit.record(scope, "user.updated", "user", row["public_id"], details)
    return UserRef(user_id, row["public_id"])


async def set_privileges(scope: Scope, user: Reference | str, names: list[str]) -> UserRef:
    """Set an administrator's own privileges, in addition to those of its usergroups.

    Raises `InsufficientPrivileges` for a privilege that the caller lacks, or a user with more privileges than the caller.
    """
    wanted = privileges.parse_privileges(names)
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        row = await lock_user(scope, user_id)
        account = await account_of(scope, user_id)
        privileges.check_may_edit_users(scope)
        privileges.check_may_manage_user(scope, account)
        privileges.check_may_grant_privileges(scope, wanted - account.own)
        if account.user_type != "A":
            raise RuleViolation("only administrators hold privileges", reason="not_an_administrator")
        if await _update_row(scope, row, {"privileges": sorted(wanted)}):
            await audit.record(scope, "user.privileges_set", "user", row["public_id"], {"privileges": sorted(wanted)})
            await invalidate_credentials(scope, user_id)
    return UserRef(user_id, row["public_id"])


async def account_of(scope: Scope, user_id: int) -> privileges.AccountRights:
    """Return the user's rights for access checks; raises `NotFound`."""
    account = await privileges.load_account(scope, user_id)
    if account is None:
        raise NotFound("user")
    return account


async def find_by_email(scope: Scope, email: str) -> Record | None:
    """Return the row of the user with the e-mail, or None."""
    return await database.fetchrow(
        "select * from users where tenant_id = $1 and email = $2 and deleted_at is null", scope.store.id, email
    )


async def lock_user(scope: Scope, user_id: int) -> Record:
    """Return the row of a user, locked until the transaction ends; raises `NotFound`."""
    row = await database.fetchrow(
        "select * from users where tenant_id = $1 and id = $2 and deleted_at is null for update",
        scope.store.id,
        user_id,
    )
    if row is None:
        raise NotFound("user")
    return row


async def lock_administrators(scope: Scope) -> None:
    """Serialize changes that could remove an administrator; must precede any row lock."""
    await database.execute(_LOCK_ADMINISTRATORS, str(scope.store.id))


async def check_removable(scope: Scope, account: privileges.AccountRights) -> None:
    """Refuse to remove the owner or the last active administrator (docs/reference/shared.md#deletion)."""
    if account.is_owner:
        raise RuleViolation("the owner of the store can't be removed, disabled or given another type", reason="owner")
    if account.user_type != "A":
        return
    other_admins = await database.fetchval(
        """
        select count(*) from users
        where tenant_id = $1 and user_type = 'A' and status = 'A' and deleted_at is null and id <> $2
        """,
        scope.store.id,
        account.id,
    )
    if not other_admins:
        raise RuleViolation(
            "the last administrator can't be removed, disabled or given another type", reason="last_admin"
        )


def _permitted_values(scope: Scope, user_id: int, values: InputValues) -> InputValues:
    """Return the input that the caller may apply to the user; the rest is ignored or refused."""
    actor = scope.actor
    administers = actor.has_privilege("manage_users") or actor.kind is ActorKind.APP
    if administers or not privileges.is_own_account(scope, user_id):
        return values
    if actor.kind is ActorKind.ADMIN and values.keys() - OWN_FIELDS:
        raise InsufficientPrivileges("manage_users")
    return {name: value for name, value in values.items() if name in OWN_FIELDS}


def _check_credentials_by_app(scope: Scope, changes: Mapping[str, Any]) -> None:
    """Refuse to let an app set the password or e-mail of a user, with which it could sign in as that user."""
    if scope.actor.kind is ActorKind.APP and changes.keys() & {"email", "password_hash"}:
        raise InsufficientPrivileges()


async def _check_own_credentials(scope: Scope, user_id: int, fields: Mapping[str, Any]) -> None:
    """Refuse a new password or e-mail of oneself, for which an access token isn't enough (docs/reference/current.md#own-account)."""
    email = fields.get("email")
    changes_email = email is not None and email != await database.fetchval(
        "select email from users where tenant_id = $1 and id = $2", scope.store.id, user_id
    )
    if (
        scope.family == "legacy"
    ):  # its contract updates a user without the current password (docs/reference/legacy.md#users)
        if changes_email and scope.actor.kind is ActorKind.VENDOR:
            # The answer reveals whether the address is taken.
            await lockout.count_attempt(scope, "vendor_profile")
        return
    wrong = {}
    if "password" in fields:
        wrong["password"] = "password_change"
    if changes_email:
        wrong["email"] = "email_change"
    if wrong:
        field, mutation = next(iter(wrong.items()))
        raise ValidationFailed(
            f"{field} of one's own account is changed by {mutation}", fields=dict.fromkeys(wrong, "own_credential")
        )


def _check_may_create(scope: Scope, user_type: str) -> None:
    """Refuse to let the caller create a user with more rights than its own."""
    if user_type == "A" and scope.actor.kind is ActorKind.APP:
        raise InsufficientPrivileges()
    if user_type == "V":
        privileges.check_may_manage_vendor_users(scope)


async def _apply_changes(scope: Scope, row: Record, changes: Mapping[str, Any]) -> None:
    account = await account_of(scope, row["id"])
    # Only the owner can change the owner, even the name.
    if changes.keys() & GUARDED or account.is_owner:
        privileges.check_may_manage_user(scope, account)
    _check_credentials_by_app(scope, changes)
    columns = dict(changes)
    if {**dict(row), **columns}["user_type"] == "V" and "vendor_id" in columns:
        privileges.check_may_manage_vendor_users(scope)
    if "user_type" in columns:
        await _check_new_type(scope, account, columns["user_type"])
        columns["privileges"] = []
    if columns.get("status", "A") != "A":
        await check_removable(scope, account)
    if "password_hash" in columns:
        columns["password_changed_at"] = scope.now
    _check_vendor({**dict(row), **columns})
    await _update_row(scope, row, columns)
    if "points" in columns:
        await _set_points(scope, account.id, row["points"], columns["points"])
    if "user_type" in columns:
        await _leave_admin_groups(scope, account.id)
    await record_events.emit_customer_changed(
        scope, account.id, account.public_id, row["user_type"], columns.get("user_type", row["user_type"])
    )
    await audit.record(scope, "user.updated", "user", account.public_id, {"changed": sorted(changes)})
    if row["status"] == "P" and columns.get("status") == "A" and columns.get("email", row["email"]):
        await outbox.queue_mail(scope, MailType.ACCOUNT_APPROVED, outbox.recipient_of({**dict(row), **columns}))
    if scope.family == "legacy" and scope.actor.user_id == account.id:
        await _notify_of_new_credentials(scope, row, columns)
    reason = _revocation_reason(columns)
    if reason is not None:
        await sessions.revoke_all_sessions(scope, account.id, reason)
    await invalidate_credentials(scope, account.id)


async def _set_points(scope: Scope, user_id: int, balance: int, points: int) -> None:
    """Set the balance of a locked or new account."""
    await write_entries(scope, user_id, balance, [Movement(ADJUSTED, points - balance)])


async def _notify_of_new_credentials(scope: Scope, row: Record, columns: Mapping[str, Any]) -> None:
    if "email" in columns and row["email"]:
        await outbox.queue_mail(scope, MailType.EMAIL_CHANGED, outbox.recipient_of(row))
    if "password_hash" in columns and row["email"]:
        await outbox.queue_mail(scope, MailType.PASSWORD_CHANGED, outbox.recipient_of(row))


async def _check_new_type(scope: Scope, account: privileges.AccountRights, user_type: str) -> None:
    _check_may_create(scope, user_type)
    if account.user_type == "A":
        await check_removable(scope, account)


def _revocation_reason(columns: Mapping[str, Any]) -> str | None:
    """Return why the user's sessions are revoked, or None (docs/reference/current.md#revocation)."""
    if columns.get("status", "A") != "A":
        return sessions.DISABLED
    if "user_type" in columns:
        return sessions.TYPE_CHANGED
    return sessions.PASSWORD_CHANGED if "password_hash" in columns else None


async def _leave_admin_groups(scope: Scope, user_id: int) -> None:
    """Remove the user from usergroups with privileges, which a new administrator must not have and others can't use."""
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
        raise ValidationFailed("vendor_id is required for a user of type V", field="vendor_id", code="required")


async def _resolve_vendor(scope: Scope, values: InputValues, current: int | None) -> int | None:
    """Resolve the vendor in the input; null, an empty text and 0 (legacy API) mean none."""
    if "vendor_id" not in values:
        return current
    reference = values["vendor_id"]
    if reference in (None, "", 0, "0"):
        return None
    return await references.resolve(scope, references.VENDOR, reference, field="vendor_id")


async def _with_password_hash(scope: Scope, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the password by its hash; done before the transaction, because hashing is slow."""
    values = dict(columns)
    password = values.pop("password", None)
    if password is not None:
        values["password_hash"] = await hash_password(password)
        values["password_changed_at"] = scope.now
    return values


async def _insert(scope: Scope, public_id: UUID, user: Mapping[str, Any], *, verified: bool) -> int:
    user_id = await take_number(scope, "users")
    try:
        await insert_row(
            scope,
            "users",
            id=user_id,
            public_id=public_id,
            created_at=scope.now,
            updated_at=scope.now,
            email_verified_at=scope.now if verified else None,
            **{name: user[name] for name in _COLUMNS},
        )
    except database.UniqueViolation as error:
        raise _email_taken(error, user["email"]) from error
    return user_id


async def _update_row(scope: Scope, row: Record, values: Mapping[str, Any]) -> bool:
    user = {**dict(row), **values}
    try:
        columns = {name: user[name] for name in _COLUMNS}
        return await update_row(scope, "users", row["id"], **columns, updated_at=scope.now)
    except database.UniqueViolation as error:
        raise _email_taken(error, user["email"]) from error


def _email_taken(error: database.UniqueViolation, email: object) -> Exception:
    if database.violated_constraint(error) != "users_email_key":
        return error
    return ValidationFailed(f"email is {email!r}, which another user has", field="email", code="email_taken")
