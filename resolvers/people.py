"""Resolve users, their saved addresses, and usergroups."""

from __future__ import annotations

from strawberry import Info

from auth.access import Access
from auth.privileges import ALL
from auth.sessions import end_session_of_user
from domain.people import accounts, export, removal, usergroups, wishlists
from domain.people.addresses import ADDRESS_RECORDS, set_default_address
from domain.people.managed_addresses import MANAGED_ADDRESS_RECORDS, set_default_address_of_user
from domain.points.ledger import adjust_points
from kernel.scope import ActorKind
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field, rename_error_fields, rename_fields, unless_changed
from resolvers.sessions import load_own_user
from schema.declaration import declare
from schema.enums import AddressType, MembershipStatus
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID
from schema.types.people import (
    GuestErasureObject,
    PersonExportObject,
    SavedAddressInput,
    SavedAddressObject,
    UsergroupInput,
    UsergroupObject,
    UserInput,
    UserObject,
    UserSessionObject,
)
from schema.types.rewards import PointEntryObject
from schema.types.sessions import SIGNED_IN_USERS

_WRITE = Access(privileges=("manage_users",), app_scope="write_users")
_WRITE_OR_SELF = Access(
    app_scope="write_users",
    vendor=True,
    customer=True,
    note="Administrators need `manage_users` for accounts other than their own; vendors and customers can update only their own account.",
)
_READ_USERGROUPS = Access(privileges=("view_users",), app_scope="read_users")
_ADMIN_WRITE = Access(privileges=("manage_users",))

_EXPORT = Access(
    vendor=True,
    customer=True,
    note="Administrators need `manage_users` for others than themselves; vendors and customers get only their own data.",
)

_USER_FIELD_NAMES = {"role": "user_type"}


@declare
class PeopleQueries:
    """Further queries about users."""

    @root_field(Access())
    async def privileges(self, info: Info) -> list[str]:
        """Return the names of all privileges."""
        return sorted(ALL)

    @root_field(_EXPORT)
    async def user_export(
        self, info: Info, id: ID | None = None, email: str | None = None, after: str | None = None
    ) -> PersonExportObject:
        """Return everything the store knows of a person, by user or, for a guest, by e-mail; by default of the caller."""
        return await export.export_user(info.context.scope, id, email, after)  # type: ignore[return-value]


@declare
class PeopleMutations:
    """Mutations of users and usergroups."""

    @root_field(_WRITE)
    async def user_create(self, info: Info, input: UserInput) -> UserObject | None:
        """Create a user. A new administrator has no privileges. Emits `user.registered`."""
        user = await accounts.create_user(info.context.scope, rename_fields(input, _USER_FIELD_NAMES))
        return await load_record(info, user.id)

    @root_field(_WRITE_OR_SELF)
    @unless_changed(UserObject)
    async def user_update(self, info: Info, id: ID, input: UserInput) -> UserObject | None:
        """Update a user; omitted fields stay unchanged. A new password, type or status revokes the user's sessions and tokens."""
        scope = info.context.scope
        user = await accounts.update_user(scope, id, rename_fields(input, _USER_FIELD_NAMES))
        if user.id == scope.actor.user_id and scope.actor.kind is ActorKind.ADMIN:
            # Without `view_users` an administrator sees its own account only, as `me` does.
            return await load_own_user(info)  # type: ignore[return-value]
        return await load_record(info, user.id)

    user_delete = delete_field(
        _ADMIN_WRITE, "Delete a user: permanently without orders, otherwise the account is hidden.", removal.delete_user
    )

    @root_field(_ADMIN_WRITE)
    async def user_anonymize(self, info: Info, id: ID) -> UserObject | None:
        """Erase all personal data of a user, except those of invoices, which are erased after the period that tax law asks for."""
        number, _ = await removal.anonymize_user(info.context.scope, id)
        return await load_record(info, number)

    @root_field(_ADMIN_WRITE)
    async def guest_anonymize(self, info: Info, email: str) -> GuestErasureObject:
        """Erase the personal data of a person without an account: orders, carts and whatever else has the e-mail."""
        return await removal.anonymize_guest(info.context.scope, email)  # type: ignore[return-value]

    @root_field(_ADMIN_WRITE)
    async def user_set_privileges(self, info: Info, id: ID, privileges: list[str]) -> UserObject | None:
        """Set the privileges of an administrator; callers can grant only privileges they have."""
        user = await accounts.set_privileges(info.context.scope, id, privileges)
        return await load_record(info, user.id)

    @root_field(_WRITE)
    async def points_adjust(self, info: Info, user_id: ID, points: int, reason: str = "") -> UserObject | None:
        """Add reward points to a user's account, or take them when negative; the balance is never below 0."""
        return await load_record(info, await adjust_points(info.context.scope, user_id, points, reason))

    @root_field(_ADMIN_WRITE)
    async def usergroup_create(self, info: Info, input: UsergroupInput) -> UsergroupObject | None:
        """Create a usergroup."""
        usergroup = await usergroups.create_usergroup(info.context.scope, rename_fields(input, {}))
        return await load_record(info, usergroup.id)

    @root_field(_ADMIN_WRITE)
    @unless_changed(UsergroupObject)
    async def usergroup_update(self, info: Info, id: ID, input: UsergroupInput) -> UsergroupObject | None:
        """Update a usergroup; omitted fields stay unchanged."""
        usergroup = await usergroups.update_usergroup(info.context.scope, id, rename_fields(input, {}))
        return await load_record(info, usergroup.id)

    usergroup_delete = delete_field(
        _ADMIN_WRITE, "Delete a usergroup; its members lose its privileges.", usergroups.delete_usergroup
    )

    @root_field(_ADMIN_WRITE)
    async def usergroup_membership_set(
        self, info: Info, user_id: ID, usergroup_id: ID, status: MembershipStatus
    ) -> UserObject | None:
        """Set a user's membership in a usergroup."""
        number = await usergroups.set_membership(info.context.scope, user_id, usergroup_id, status)
        return await load_record(info, number)

    @root_field(_ADMIN_WRITE)
    async def usergroup_membership_delete(self, info: Info, user_id: ID, usergroup_id: ID) -> UserObject | None:
        """Remove a user from a usergroup, whose privileges the user loses."""
        number = await usergroups.delete_membership(info.context.scope, user_id, usergroup_id)
        return await load_record(info, number)


@declare
class AddressMutations:
    """Further mutations of saved addresses."""

    @root_field(SIGNED_IN_USERS)
    async def address_set_default(self, info: Info, id: ID, type: AddressType) -> SavedAddressObject | None:
        """Make one of the caller's saved addresses the default for shipping or billing."""
        return await load_record(info, await set_default_address(info.context.scope, id, type))  # type: ignore[no-any-return]


@declare
class WishlistMutations:
    """Mutations of the caller's wishlist."""

    @root_field(SIGNED_IN_USERS)
    async def wishlist_add(self, info: Info, product_ids: list[ID]) -> UserObject | None:
        """Add products to the caller's wishlist, at most 500 in all; those that it has stay where they are."""
        await wishlists.add_products(info.context.scope, product_ids)
        return await load_own_user(info)  # type: ignore[return-value]

    @root_field(SIGNED_IN_USERS)
    async def wishlist_remove(self, info: Info, product_ids: list[ID]) -> UserObject | None:
        """Remove products from the caller's wishlist; those that it doesn't have are ignored."""
        await wishlists.remove_products(info.context.scope, product_ids)
        return await load_own_user(info)  # type: ignore[return-value]


@declare
class ManagedAddressMutations:
    """Mutations of the addresses of other users, by those who administer accounts."""

    @root_field(_WRITE)
    async def user_address_create(self, info: Info, user_id: ID, input: SavedAddressInput) -> SavedAddressObject | None:
        """Save an address of a user, at most 50; the first one is the default for shipping and billing."""
        fields = {**provided_fields(input), "user": user_id}
        with rename_error_fields({"user_id": "user"}):
            number = await MANAGED_ADDRESS_RECORDS.create(info.context.scope, fields)
        return await load_record(info, number)  # type: ignore[no-any-return]

    @root_field(_WRITE)
    @unless_changed(SavedAddressObject)
    async def user_address_update(self, info: Info, id: ID, input: SavedAddressInput) -> SavedAddressObject | None:
        """Update a saved address of a user; omitted fields stay unchanged, and so do orders and carts."""
        number = await MANAGED_ADDRESS_RECORDS.update(info.context.scope, id, provided_fields(input))
        return await load_record(info, number)  # type: ignore[no-any-return]

    user_address_delete = delete_field(
        _WRITE, "Delete a saved address of a user; orders and carts keep their copies.", MANAGED_ADDRESS_RECORDS.delete
    )

    @root_field(_WRITE)
    async def user_address_set_default(self, info: Info, id: ID, type: AddressType) -> SavedAddressObject | None:
        """Make a saved address the default of its user for shipping or billing."""
        return await load_record(info, await set_default_address_of_user(info.context.scope, id, type))  # type: ignore[no-any-return]


@declare
class UserSessionMutations:
    """Mutations of the sessions of other users."""

    user_session_end = delete_field(
        Access(privileges=("manage_users",), user_only=True),
        "Revoke a session of a user whose account the caller may administer; its tokens are revoked immediately.",
        end_session_of_user,
    )


QUERIES = (
    PeopleQueries,
    build_entity_queries(UserSessionObject),
    build_entity_queries(UserObject),
    build_entity_queries(UsergroupObject, access=_READ_USERGROUPS),
    build_entity_queries(PointEntryObject),
)
MUTATIONS = (
    PeopleMutations,
    AddressMutations,
    ManagedAddressMutations,
    UserSessionMutations,
    WishlistMutations,
    build_entity_mutations(
        SavedAddressObject,
        SavedAddressInput,
        ADDRESS_RECORDS,
        SIGNED_IN_USERS,
        create_description="Save an address of the caller, at most 50; the first one is the default for shipping and billing.",
        update_description="Update one of the caller's saved addresses; omitted fields stay unchanged, and so do orders and carts.",
        delete_description="Delete one of the caller's saved addresses; orders and carts keep their copies.",
        singular="address",
    ),
)
