"""Assemble what can be asked and done about users and usergroups."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from auth.privileges import ALL
from domain.people import accounts, removal, usergroups
from domain.people.read import USERGROUPS, USERS
from domain.references import USER, find
from resolvers.changes import DeletedRecord, deleted, renamed, shown
from resolvers.reads import reads
from schema.fields import root
from schema.inputs.people import UsergroupInput, UserInput
from schema.scalars import Ident, MembershipStatus
from schema.types.people import UsergroupObject, UserObject

_WRITE = Access(privileges=("manage_users",), app_scope="write_users")
_WRITE_OR_SELF = Access(
    app_scope="write_users",
    vendor=True,
    customer=True,
    note="Administrators need `manage_users` for anybody but themselves; vendors and customers change only their own account.",
)
_ADMIN_WRITE = Access(privileges=("manage_users",))

_USER_WORDS = {"role": "user_type"}


@strawberry.type
class PeopleQueries:
    """What else can be asked about people."""

    @root(Access(), "The names of all privileges there are.")
    async def privileges(self, info: Info) -> list[str]:
        """List the privileges."""
        return sorted(ALL)


@strawberry.type
class PeopleMutations:
    """What can be done with users and usergroups."""

    @root(_WRITE, "Make a user. A new administrator has no privilege. Fires `user.registered`.")
    async def user_create(self, info: Info, input: UserInput) -> UserObject | None:
        """Make a user."""
        made = await accounts.create_user(info.context.scope, renamed(input, _USER_WORDS))
        return await shown(info, USERS, made.id)

    @root(
        _WRITE_OR_SELF, "Change a user. A new password, type or status ends the user's sessions and tokens."
    )
    async def user_update(self, info: Info, id: Ident, input: UserInput) -> UserObject | None:
        """Change a user."""
        changed = await accounts.update_user(info.context.scope, id, renamed(input, _USER_WORDS))
        return await shown(info, USERS, changed.id)

    @root(_ADMIN_WRITE, "Delete a user: one without orders is erased, one with orders is hidden.")
    async def user_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a user."""
        await removal.delete_user(info.context.scope, id)
        return deleted(id)

    @root(_ADMIN_WRITE, "Take all personal data from a user, whose orders stay.")
    async def user_anonymize(self, info: Info, id: Ident) -> UserObject | None:
        """Make a user anonymous."""
        scope = info.context.scope
        number = await find(scope, USER, id)
        await removal.anonymize_user(scope, id)
        return await shown(info, USERS, number)

    @root(_ADMIN_WRITE, "Give an administrator exactly these privileges; nobody gives what they do not hold.")
    async def user_set_privileges(self, info: Info, id: Ident, privileges: list[str]) -> UserObject | None:
        """Set a user's own privileges."""
        changed = await accounts.set_privileges(info.context.scope, id, privileges)
        return await shown(info, USERS, changed.id)

    @root(_ADMIN_WRITE, "Make a usergroup.")
    async def usergroup_create(self, info: Info, input: UsergroupInput) -> UsergroupObject | None:
        """Make a usergroup."""
        made = await usergroups.create_usergroup(info.context.scope, renamed(input, {}))
        return await shown(info, USERGROUPS, made.id)

    @root(_ADMIN_WRITE, "Change a usergroup.")
    async def usergroup_update(self, info: Info, id: Ident, input: UsergroupInput) -> UsergroupObject | None:
        """Change a usergroup."""
        changed = await usergroups.update_usergroup(info.context.scope, id, renamed(input, {}))
        return await shown(info, USERGROUPS, changed.id)

    @root(_ADMIN_WRITE, "Delete a usergroup; its members lose what it gave them.")
    async def usergroup_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a usergroup."""
        await usergroups.delete_usergroup(info.context.scope, id)
        return deleted(id)

    @root(_ADMIN_WRITE, "Set a user's place in a group.")
    async def usergroup_membership_set(
        self, info: Info, user_id: Ident, usergroup_id: Ident, status: MembershipStatus
    ) -> UserObject | None:
        """Set a membership."""
        scope = info.context.scope
        await usergroups.set_membership(scope, user_id, usergroup_id, status)
        return await shown(info, USERS, await find(scope, USER, user_id))


QUERIES = (
    PeopleQueries,
    reads(UserObject, USERS, "user", "users", connection=True),
    reads(UsergroupObject, USERGROUPS, "usergroup", "usergroups"),
)
MUTATIONS = (PeopleMutations,)
