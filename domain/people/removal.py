"""Delete users: removed if nothing refers to them, soft-deleted if orders do, or anonymized (docs/reference/shared.md#deletion).

The owner, the last administrator and oneself can't be deleted (422).
"""

from __future__ import annotations

from dataclasses import replace

from auth import privileges, sessions
from auth.api_keys import revoke_all_api_keys
from auth.credential_cache import invalidate_credentials
from domain import record_events
from domain.people.account_fields import ACCOUNT_FIELDS
from domain.people.accounts import account_of, check_removable, find_by_email, lock_administrators, lock_user
from domain.people.erasure import Erasure, erase, lock_purchases
from domain.people.personal_data import Person, load_person
from kernel.errors import RuleViolation
from kernel.fields import read_fields
from kernel.ids import Reference
from kernel.scope import Scope
from models import audit, references
from models.connection import database
from models.rows import delete_rows, update_row

# History and shipments of orders name their actor; deleting that user would lose the name.
_IS_REFERENCED = """
    select exists (select from orders where tenant_id = $1 and user_id = $2)
        or exists (select from order_status_changes where tenant_id = $1 and user_id = $2)
        or exists (select from shipments where tenant_id = $1 and user_id = $2)
"""

# An import would bring an account again whose number is free.
_IS_IMPORTED = (
    "select exists (select from external_references where tenant_id = $1 and kind = 'user' and local_id = $2)"
)

# Includes guest carts, which contain the e-mail and maybe an address. Executed before the user is locked, because a checkout locks its cart
# first and then, through its order's foreign key, the user.
_DELETE_CARTS = """
    delete from carts where tenant_id = $1 and (user_id = $2
        or customer_email = (select nullif(email, '') from users where tenant_id = $1 and id = $2))
"""


async def delete_user(scope: Scope, user: Reference | str) -> None:
    """Delete a user: one without orders is removed, one with orders is soft-deleted and can't sign in any more.

    Raises `NotFound`, `InsufficientPrivileges` and, for the owner, the last administrator and oneself, `RuleViolation`.
    """
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await database.execute(_DELETE_CARTS, scope.store.id, user_id)
        account = await _lock_removable(scope, user_id)
        await sessions.revoke_all_sessions(scope, user_id, sessions.DELETED)
        if await database.fetchval(_IS_REFERENCED, scope.store.id, user_id):
            await revoke_all_api_keys(scope, user_id)
            for table in ("user_addresses", "wishlist_items"):
                await delete_rows(scope, table, user_id=user_id)
            await update_row(scope, "users", user_id, deleted_at=scope.now, updated_at=scope.now)
        else:
            await delete_rows(scope, "users", id=user_id)
        await record_events.emit_customer_changed(scope, user_id, account.public_id, account.user_type, "")
        await audit.record(scope, "user.deleted", "user", account.public_id)
        await invalidate_credentials(scope, user_id)


async def anonymize_user(scope: Scope, user: Reference | str) -> tuple[int, Erasure]:
    """Erase the personal data of a user everywhere (`domain.people.erasure`), with what the store knows by the same e-mail.

    Return the user's internal id, and what was erased.

    The account remains disabled and nameless, so that orders keep their customer.
    """
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await lock_purchases(scope, await load_person(scope, users=[user_id]))
        account = await _lock_removable(scope, user_id)
        return user_id, await _anonymize(scope, account, await load_person(scope, users=[user_id]))


async def anonymize_guest(scope: Scope, email: str) -> Erasure:
    """Erase the personal data of a person without an account: what the store knows by the e-mail, deleted accounts among it.

    Raises `ValidationFailed` for a text that is no e-mail, and `RuleViolation` (`has_account`) where an account has it.
    """
    privileges.check_may_edit_users(scope)
    address = read_fields({"email": ACCOUNT_FIELDS["email"]}, {"email": email}, creating=True)["email"]
    async with database.transaction(scope):
        person = await load_person(scope, email=address)
        await lock_purchases(scope, person)
        if await find_by_email(scope, address) is not None:
            raise RuleViolation("an account has the e-mail; anonymize the user", reason="has_account")
        erasure = await erase(scope, person)
        if erasure.rows:
            await audit.record(scope, "guest.anonymized", "guest", "", {"rows": erasure.rows})
    return erasure


async def erase_or_anonymize(scope: Scope, user_id: int) -> None:
    """Erase the caller's own account, or anonymize it if orders refer to it or another shop has it; their data are erased everywhere.

    Raises `RuleViolation` for the owner and the last administrator.
    """
    async with database.transaction(scope):
        await lock_purchases(scope, await load_person(scope, users=[user_id]))
        await lock_administrators(scope)
        await lock_user(scope, user_id)
        account = await account_of(scope, user_id)
        await check_removable(scope, account)
        is_referenced = await database.fetchval(_IS_REFERENCED, scope.store.id, user_id)
        if is_referenced or await database.fetchval(_IS_IMPORTED, scope.store.id, user_id):
            await _anonymize(scope, account, await _own_person(scope, user_id))
            return
        await sessions.revoke_all_sessions(scope, user_id, sessions.DELETED)
        await erase(scope, await _own_person(scope, user_id))
        await delete_rows(scope, "users", id=user_id)
        await record_events.emit_customer_changed(scope, user_id, account.public_id, account.user_type, "")
        await audit.record(scope, "user.deleted", "user", account.public_id)
        await invalidate_credentials(scope, user_id)


async def _own_person(scope: Scope, user_id: int) -> Person:
    """Return the caller, whose token proves the e-mail; anybody can write another person's telephone into an account."""
    return replace(await load_person(scope, users=[user_id]), phones=(), documents=())


async def _anonymize(scope: Scope, account: privileges.AccountRights, person: Person) -> Erasure:
    """Erase a locked account, without an event when nothing of it was left."""
    erasure = await erase(scope, person)
    if erasure.rows:
        await record_events.emit_customer_changed(
            scope, account.id, account.public_id, account.user_type, account.user_type
        )
        await audit.record(scope, "user.anonymized", "user", account.public_id)
        await invalidate_credentials(scope, account.id)
    return erasure


async def _lock_removable(scope: Scope, user_id: int) -> privileges.AccountRights:
    """Lock a user that the caller may delete and the store doesn't require."""
    await lock_administrators(scope)
    await lock_user(scope, user_id)
    account = await account_of(scope, user_id)
    privileges.check_may_edit_users(scope)
    privileges.check_may_manage_user(scope, account)
    if scope.actor.is_user and scope.actor.user_id == user_id:
        raise RuleViolation("nobody can delete their own account here", reason="oneself")
    await check_removable(scope, account)
    return account
