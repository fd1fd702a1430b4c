"""Delete users: removed if nothing refers to them, soft-deleted if orders do, or anonymized (docs/reference/shared.md#deletion).

The owner, the last administrator and oneself can't be deleted (422).
"""

from __future__ import annotations

from auth import privileges, sessions
from auth.api_keys import revoke_all_api_keys
from auth.credential_cache import invalidate_credentials
from domain import record_events
from domain.people.accounts import account_of, check_removable, lock_administrators, lock_user
from kernel.errors import RuleViolation
from kernel.ids import Reference
from kernel.scope import Scope
from models import audit, references
from models.connection import database
from models.rows import update_row

# History and shipments of orders name their actor; deleting that user would lose the name.
_IS_REFERENCED = """
    select exists (select from orders where tenant_id = $1 and user_id = $2)
        or exists (select from order_status_changes where tenant_id = $1 and user_id = $2)
        or exists (select from shipments where tenant_id = $1 and user_id = $2)
"""

# Includes guest carts, which contain the e-mail and maybe an address. Executed before the user is locked, because a checkout locks its cart
# first and then, through its order's foreign key, the user.
_DELETE_CARTS = """
    delete from carts where tenant_id = $1 and (user_id = $2
        or customer_email = (select nullif(email, '') from users where tenant_id = $1 and id = $2))
"""


_DELETE_ADDRESSES = "delete from user_addresses where tenant_id = $1 and user_id = $2"


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
            await database.execute(_DELETE_ADDRESSES, scope.store.id, user_id)
            await update_row(scope, "users", user_id, deleted_at=scope.now, updated_at=scope.now)
        else:
            await database.execute("delete from users where tenant_id = $1 and id = $2", scope.store.id, user_id)
        await record_events.emit_customer_changed(scope, user_id, account.public_id, account.user_type, "")
        await audit.record(scope, "user.deleted", "user", account.public_id)
        await invalidate_credentials(scope, user_id)


async def anonymize_user(scope: Scope, user: Reference | str) -> None:
    """Erase the personal data of a user: name, e-mail, documents, phone, saved addresses, sign-in addresses, and every
    credential.

    The account remains disabled and nameless, so that orders keep their customer. What an order copied when it was placed remains, as
    fiscal law requires (LGPD, article 16, I).
    """
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await database.execute(_DELETE_CARTS, scope.store.id, user_id)
        await _anonymize(scope, await _lock_removable(scope, user_id))


async def erase_or_anonymize(scope: Scope, user_id: int) -> None:
    """Erase the caller's own account, or anonymize it if orders refer to it.

    Raises `RuleViolation` for the owner and the last administrator.
    """
    async with database.transaction(scope):
        await database.execute(_DELETE_CARTS, scope.store.id, user_id)
        await lock_administrators(scope)
        await lock_user(scope, user_id)
        account = await account_of(scope, user_id)
        await check_removable(scope, account)
        if await database.fetchval(_IS_REFERENCED, scope.store.id, user_id):
            await _anonymize(scope, account)
            return
        await sessions.revoke_all_sessions(scope, user_id, sessions.DELETED)
        await database.execute("delete from users where tenant_id = $1 and id = $2", scope.store.id, user_id)
        await record_events.emit_customer_changed(scope, user_id, account.public_id, account.user_type, "")
        await audit.record(scope, "user.deleted", "user", account.public_id)
        await invalidate_credentials(scope, user_id)


async def _anonymize(scope: Scope, account: privileges.AccountRights) -> None:
    user_id = account.id
    async with database.transaction(scope):
        await database.execute(
            """
            update users set email = null, password_hash = null, firstname = '', lastname = '', company_name = '', phone = null,
                cpf = null, cnpj = null, status = 'D', privileges = '{}', email_verified_at = null, updated_at = $3
            where tenant_id = $1 and id = $2
            """,
            scope.store.id,
            user_id,
            scope.now,
        )
        # Sessions and keys contain addresses and names; they are deleted together with their refresh tokens.
        for statement in (
            _DELETE_ADDRESSES,
            "delete from sessions where tenant_id = $1 and user_id = $2",
            "delete from legacy_tokens where tenant_id = $1 and user_id = $2",
            "delete from api_keys where tenant_id = $1 and user_id = $2",
            "delete from two_factors where tenant_id = $1 and user_id = $2",
            "delete from recovery_codes where tenant_id = $1 and user_id = $2",
            "delete from sign_in_challenges where tenant_id = $1 and user_id = $2",
            "delete from mailed_tokens where tenant_id = $1 and user_id = $2",
            "delete from mails where tenant_id = $1 and user_id = $2",
            "delete from usergroup_memberships where tenant_id = $1 and user_id = $2",
            "update discussion_posts set name = '', ip_address = '' where tenant_id = $1 and user_id = $2",
        ):
            await database.execute(statement, scope.store.id, user_id)
        await record_events.emit_customer_changed(
            scope, user_id, account.public_id, account.user_type, account.user_type
        )
        await audit.record(scope, "user.anonymized", "user", account.public_id)
        await invalidate_credentials(scope, user_id)


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
