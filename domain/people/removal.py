"""Take users away: erased when nothing speaks of them, hidden when orders do, or stripped of what is personal.

The rules are of decisions section 1, Deleting: never the owner, the last administrator or oneself (422).
"""

from __future__ import annotations

from auth import privileges, sessions
from auth.api_keys import revoke_all_api_keys
from auth.credential_cache import changed
from domain import audit, references
from domain.people.accounts import account_of, check_not_needed, lock_administrators, lock_user
from kernel.errors import RuleViolation
from kernel.ids import Reference
from kernel.scope import Scope
from models import database

# An order's history and shipments name who acted; erasing that user would leave "by whom" empty.
_IS_SPOKEN_OF = """
    select exists (select from orders where tenant_id = $1 and user_id = $2)
        or exists (select from order_status_changes where tenant_id = $1 and user_id = $2)
        or exists (select from shipments where tenant_id = $1 and user_id = $2)
"""

# Also what was put together without signing in: it bears the e-mail, and maybe an address. Before the user is locked, for a checkout
# locks its cart first and then, by its order's foreign key, the user.
_FORGET_CARTS = """
    delete from carts where tenant_id = $1 and (user_id = $2
        or customer_email = (select nullif(email, '') from users where tenant_id = $1 and id = $2))
"""


async def delete_user(scope: Scope, user: Reference | str) -> None:
    """Delete a user: one without orders is erased, one with orders is hidden and can't sign in any more.

    Raises `NotFound`, `InsufficientPrivileges` and, for the owner, the last administrator and oneself, `RuleViolation`.
    """
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await database.execute(_FORGET_CARTS, scope.store.id, user_id)
        account = await _to_be_removed(scope, user_id)
        await sessions.end_all_sessions(scope, user_id, sessions.DELETED)
        if await database.value(_IS_SPOKEN_OF, scope.store.id, user_id):
            await revoke_all_api_keys(scope, user_id)
            await database.execute(
                "update users set deleted_at = $3, updated_at = $3 where tenant_id = $1 and id = $2",
                scope.store.id,
                user_id,
                scope.now,
            )
        else:
            await database.execute(
                "delete from users where tenant_id = $1 and id = $2", scope.store.id, user_id
            )
        await audit.record(scope, "user.deleted", "user", account.public_id)
        await changed(scope, user_id)


async def anonymize_user(scope: Scope, user: Reference | str) -> None:
    """Take from a user everything personal: name, e-mail, documents, telephone, addresses of sign-ins, and every credential.

    The account stays as a disabled one without a name, so that orders keep their buyer. What an order copied when it was placed
    stays with the order, as fiscal law demands (LGPD, article 16, I).
    """
    user_id = await references.find(scope, references.USER, user)
    async with database.transaction(scope):
        await database.execute(_FORGET_CARTS, scope.store.id, user_id)
        account = await _to_be_removed(scope, user_id)
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
        # Sessions and keys hold addresses and names; they go altogether, their refresh tokens with them.
        for statement in (
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
        await audit.record(scope, "user.anonymized", "user", account.public_id)
        await changed(scope, user_id)


async def _to_be_removed(scope: Scope, user_id: int) -> privileges.AccountRights:
    """Lock a user that the caller may take away and that the store can do without."""
    await lock_administrators(scope)
    await lock_user(scope, user_id)
    account = await account_of(scope, user_id)
    privileges.check_may_edit_users(scope)
    privileges.check_may_manage_user(scope, account)
    if scope.actor.is_user and scope.actor.user_id == user_id:
        raise RuleViolation("nobody can delete their own account here", reason="oneself")
    await check_not_needed(scope, account)
    return account
