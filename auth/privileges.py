"""Privileges of administrators, and who may grant them (docs/reference/shared.md#privileges)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from kernel.errors import InsufficientPrivileges, NotFound, ValidationFailed
from kernel.scope import ActorKind, Scope
from models import references
from models.connection import database
from models.rows import from_row

AREAS = (
    "products",
    "orders",
    "users",
    "payments",
    "catalog",
    "content",
    "shipping",
    "marketplace",
    "settings",
    "apps",
    "warehouses",
    "b2b",
)
ALL: frozenset[str] = frozenset(f"{verb}_{area}" for area in AREAS for verb in ("manage", "view"))


@dataclass(frozen=True, slots=True)
class AccountRights:
    """A user's attributes for access rules. `privileges` are the effective ones, `own` those without its user groups'.

    `status` is `D` while a vendor user's vendor is disabled.
    """

    id: int
    public_id: UUID
    user_type: str
    status: str
    vendor_id: int | None
    is_owner: bool
    privileges: frozenset[str]
    own: frozenset[str]


def expand_privileges(privileges: Iterable[str]) -> frozenset[str]:
    """Add to every `manage_x` the `view_x` that it implies."""
    names = frozenset(privileges)
    return names | {"view_" + name.removeprefix("manage_") for name in names if name.startswith("manage_")}


def parse_privileges(privileges: Iterable[str]) -> frozenset[str]:
    """Return the names as a set; raise `ValidationFailed` for an unknown one."""
    names = frozenset(privileges)
    unknown = sorted(names - ALL)
    if unknown:
        raise ValidationFailed(
            f"privileges holds {unknown[0]!r}; expected manage_ or view_ followed by one of {', '.join(AREAS)}",
            field="privileges",
            code="privilege_unknown",
        )
    return names


def effective_privileges(
    user_type: str, *, is_owner: bool, own: Iterable[str], of_groups: Iterable[str]
) -> frozenset[str]:
    """Return a user's privileges: all for the owner, other administrators' own and their groups', none for the rest."""
    if user_type != "A":
        return frozenset()
    return ALL if is_owner else expand_privileges((*own, *of_groups)) & ALL


_ACCOUNT = """
    select u.id, u.public_id, u.user_type, u.vendor_id, u.privileges,
        case when u.user_type = 'V' and v.status = 'D' then 'D' else u.status end as status,
        array(
            select distinct granted.privilege from usergroup_memberships m
            join usergroups g on g.tenant_id = m.tenant_id and g.id = m.usergroup_id
            cross join lateral unnest(g.privileges) as granted(privilege)
            where m.tenant_id = u.tenant_id and m.user_id = u.id and m.status = 'A'
              and g.type = 'A' and g.status = 'A' and g.deleted_at is null
        ) as group_privileges
    from users u left join vendors v on v.tenant_id = u.tenant_id and v.id = u.vendor_id
    where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null
"""


async def load_account(scope: Scope, user_id: int) -> AccountRights | None:
    """Load a user with its effective privileges, None if absent."""
    row = await database.fetchrow(_ACCOUNT, scope.store.id, user_id)
    if row is None:
        return None
    is_owner = row["id"] == scope.store.owner_id
    return from_row(
        AccountRights,
        row,
        is_owner=is_owner,
        privileges=effective_privileges(
            row["user_type"], is_owner=is_owner, own=row["privileges"], of_groups=row["group_privileges"]
        ),
        own=frozenset(row["privileges"]),
    )


def check_may_grant_privileges(scope: Scope, privileges: Iterable[str]) -> None:
    """Raise `InsufficientPrivileges`, naming the first, for privileges that the caller doesn't have."""
    missing = sorted(name for name in expand_privileges(privileges) if not scope.actor.has_privilege(name))
    if missing:
        raise InsufficientPrivileges(missing[0])


def check_may_edit_users(scope: Scope) -> None:
    """Check that the caller may administer users: `manage_users`, or an app's scope `write_users`."""
    if scope.actor.kind is ActorKind.APP:
        scope.check_scope("write_users")
    else:
        scope.check_privilege("manage_users")


async def find_user_to_edit(scope: Scope, user: object) -> int:
    """Return the internal id of a user whom the caller may edit, or of the caller.

    Who may not edit users is refused before the user is looked for, and doesn't learn whether there is one: raises what
    `check_may_edit_users` does, then `NotFound`.
    """
    user_id = (await references.find_ids(scope, references.USER, [user])).get(user)
    if user_id is None or not is_own_account(scope, user_id):
        check_may_edit_users(scope)
    if user_id is None:
        raise NotFound("user")
    return user_id


def is_own_account(scope: Scope, user_id: int) -> bool:
    """Return whether a user is the caller."""
    return scope.actor.is_user and scope.actor.user_id == user_id


def check_may_change_owner(scope: Scope, user_id: int) -> None:
    """Raise `InsufficientPrivileges` if the user is the owner and the caller isn't: addresses and points are guarded too."""
    is_allowed = scope.actor.kind is ActorKind.SYSTEM or is_own_account(scope, user_id)
    if user_id == scope.store.owner_id and not is_allowed:
        raise InsufficientPrivileges()


def check_may_manage_user(scope: Scope, user: AccountRights) -> None:
    """Check that the caller may change a user's e-mail, password, keys, second factor, status, type or privileges.

    Users may change their own. Only the owner may change the owner. An administrator's may be changed only by an administrator who has
    all of that user's privileges, never by an app; a vendor user's as `check_may_manage_vendor_users` says; customers' by everyone who may
    edit users.
    """
    actor = scope.actor
    if actor.kind is ActorKind.SYSTEM or is_own_account(scope, user.id):
        return
    if user.is_owner:
        raise InsufficientPrivileges()
    check_may_edit_users(scope)
    if user.user_type == "A":
        if actor.kind is ActorKind.APP:
            raise InsufficientPrivileges()
        check_may_grant_privileges(scope, user.privileges)
    if user.user_type == "V":
        check_may_manage_vendor_users(scope)


def check_may_manage_vendor_users(scope: Scope) -> None:
    """Check that the caller may create vendor users and sign in as them, which grants what vendors may do: `manage_marketplace`, no app."""
    if scope.actor.kind is ActorKind.APP:
        raise InsufficientPrivileges()
    scope.check_privilege("manage_marketplace")
