"""Name the privileges of administrators and say who may give them and to whom (decisions section 3, Privileges)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from kernel.errors import InsufficientPrivileges, ValidationFailed
from kernel.scope import ActorKind, Scope
from models import database

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
    """Describe a user as far as access rules need it. `privileges` are the effective ones, `own` without those of groups."""

    id: int
    public_id: UUID
    user_type: str
    status: str
    vendor_id: int | None
    is_owner: bool
    privileges: frozenset[str]
    own: frozenset[str]


def widen(privileges: Iterable[str]) -> frozenset[str]:
    """Add to every `manage_x` the `view_x` it implies."""
    given = frozenset(privileges)
    return given | {"view_" + name.removeprefix("manage_") for name in given if name.startswith("manage_")}


def check_names(privileges: Iterable[str]) -> frozenset[str]:
    """Give the names as a set; refuse one that is no privilege."""
    given = frozenset(privileges)
    unknown = sorted(given - ALL)
    if unknown:
        raise ValidationFailed(
            f"privileges holds {unknown[0]!r}; expected manage_ or view_ followed by one of {', '.join(AREAS)}",
            field="privileges",
            code="privilege_unknown",
        )
    return given


def effective(
    user_type: str, *, is_owner: bool, own: Iterable[str], of_groups: Iterable[str]
) -> frozenset[str]:
    """Give what a user may do: the owner everything, other administrators their own and their groups', the rest nothing."""
    if user_type != "A":
        return frozenset()
    return ALL if is_owner else widen((*own, *of_groups)) & ALL


_ACCOUNT = """
    select u.id, u.public_id, u.user_type, u.status, u.vendor_id, u.privileges,
        array(
            select distinct held.privilege from usergroup_memberships m
            join usergroups g on g.tenant_id = m.tenant_id and g.id = m.usergroup_id
            cross join lateral unnest(g.privileges) as held(privilege)
            where m.tenant_id = u.tenant_id and m.user_id = u.id and m.status = 'A'
              and g.type = 'A' and g.status = 'A' and g.deleted_at is null
        ) as group_privileges
    from users u where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null
"""


async def account(scope: Scope, user_id: int) -> AccountRights | None:
    """Read a user with its effective privileges, None when there is none."""
    found = await database.row(_ACCOUNT, scope.store.id, user_id)
    if found is None:
        return None
    is_owner = found["id"] == scope.store.owner_id
    return AccountRights(
        id=found["id"],
        public_id=found["public_id"],
        user_type=found["user_type"],
        status=found["status"],
        vendor_id=found["vendor_id"],
        is_owner=is_owner,
        privileges=effective(
            found["user_type"],
            is_owner=is_owner,
            own=found["privileges"],
            of_groups=found["group_privileges"],
        ),
        own=frozenset(found["privileges"]),
    )


def check_may_grant(scope: Scope, privileges: Iterable[str]) -> None:
    """Refuse to give privileges that the caller does not hold; raises `InsufficientPrivileges` naming the first of them."""
    missing = sorted(name for name in widen(privileges) if not scope.actor.holds(name))
    if missing:
        raise InsufficientPrivileges(missing[0])


def check_may_edit_users(scope: Scope) -> None:
    """Refuse callers who don't administer users: it takes `manage_users`, or an app's scope `write_users`."""
    if scope.actor.kind is ActorKind.APP:
        scope.require_scope("write_users")
    else:
        scope.require("manage_users")


def check_may_manage_user(scope: Scope, user: AccountRights) -> None:
    """Refuse to change what guards a user's account: its e-mail, password, keys, second factor, state, type and privileges.

    Everybody may change their own. Nobody but the owner changes the owner. An administrator's may be changed only by an
    administrator who holds all of that user's privileges, never by an app; other users' by whoever administers users.
    """
    actor = scope.actor
    if actor.kind is ActorKind.SYSTEM or (actor.is_user and actor.user_id == user.id):
        return
    if user.is_owner:
        raise InsufficientPrivileges()
    check_may_edit_users(scope)
    if user.user_type == "A":
        if actor.kind is ActorKind.APP:
            raise InsufficientPrivileges()
        check_may_grant(scope, user.privileges)
