"""Define users and usergroups."""

from __future__ import annotations

from auth.access import Access
from domain.people.read import IS_OWNER, MEMBERSHIPS, USERGROUPS, USERS
from models.reading import ToMany, ToOne
from schema.fields import column, entity, relation
from schema.scalars import (
    BigInt,
    Ident,
    MembershipStatus,
    Role,
    Time,
    UsergroupStatus,
    UsergroupType,
    UserStatus,
    UserType,
)
from schema.types.marketplace import VendorObject

# CPF, CNPJ and phone: only under a privilege, or one's own (the rows a vendor or customer sees are its own alone).
_PERSONAL = Access(privileges=("view_users",), vendor=True, customer=True)


@entity(USERGROUPS, "Usergroup", "A group of users.")
class UsergroupObject:
    """A row of `usergroups`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`usergroup_id`).", internal=True)
    name: str = column(description="The name.")
    type: UsergroupType = column(description="`A` for administrators, `C` for customers.")
    status: UsergroupStatus = column(description="The status letter.")
    privileges: list[str] = column(description="What its members may do.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(MEMBERSHIPS, "UsergroupMembership", "A user's place in a group.")
class UsergroupMembershipObject:
    """A row of `usergroup_memberships`."""

    id: Ident = column("public_id", "The UUID.")
    status: MembershipStatus = column(description="The status letter.")
    usergroup_number: BigInt = column("usergroup_id", "The legacy number of the group.", internal=True)
    usergroup: UsergroupObject | None = relation(ToOne("usergroup_id"), "The group.")
    created_at: Time = column(description="When it began.")


@entity(USERS, "User", "A person with an account.")
class UserObject:
    """A row of `users`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`user_id`).", internal=True)
    name: str = column(description="First and last name.")
    firstname: str = column(description="The first name.")
    lastname: str = column(description="The last name.")
    email: str | None = column(description="The e-mail address; null once the account is anonymous.")
    role: Role = column("user_type", "`admin`, `vendor` or `customer`.")
    user_type: UserType = column(description="The role as a letter.")
    status: UserStatus = column(description="The status letter.")
    company_name: str = column(description="The company the person buys for.")
    phone: str | None = column(description="The phone number, digits only.", guard=_PERSONAL)
    cpf: str | None = column(description="The CPF, digits only.", guard=_PERSONAL)
    cnpj: str | None = column(description="The CNPJ, without punctuation.", guard=_PERSONAL)
    is_owner: bool = column(IS_OWNER, "Whether the store is theirs.")
    email_verified: bool = column("t.email_verified_at IS NOT NULL", "Whether the address was confirmed.")
    privileges: list[str] | None = column(
        description="What was granted to the person, usergroups apart.",
        guard=Access(privileges=("view_users",)),
    )
    points: int = column(description="Reward points.", internal=True)
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor worked for, or 0.", internal=True
    )
    vendor_name: str = column(
        "coalesce((SELECT v.name FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id), '')",
        "The name of the vendor worked for.",
        internal=True,
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor worked for.")
    usergroups: list[UsergroupMembershipObject] | None = relation(
        ToMany("t.user_id", "t.usergroup_id"),
        "The groups the person belongs to.",
        guard=Access(privileges=("view_users",)),
    )
    created_at: Time = column(description="When the account was made.")
    updated_at: Time = column(description="When it was last changed.")
    last_login_at: Time | None = column(description="The last completed sign-in.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of creation.", internal=True
    )
