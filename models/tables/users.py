"""Users, usergroups and memberships."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel, Timestamped


class User(SoftDeletable, table="users"):
    """A user account. `user_type` is `A` admin, `V` vendor, `C` customer; `status` `A`, `D`, `P`.

    `email`, `cpf`, `cnpj` and `phone` are normalized (lower case, without punctuation). `name` is generated from first and last name.
    """

    email = fields.TextField(null=True)
    password_hash = fields.TextField(null=True)
    user_type = fields.TextField(default="C")
    status = fields.TextField(default="A")
    firstname = fields.TextField(default="")
    lastname = fields.TextField(default="")
    name = fields.TextField(generated=True)
    company_name = fields.TextField(default="")
    phone = fields.TextField(null=True)
    cpf = fields.TextField(null=True)
    cnpj = fields.TextField(null=True)
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="users")
    privileges = ArrayField(element_type="text", default=list)
    points = fields.IntField(default=0)
    email_verified_at = fields.DatetimeField(null=True)
    password_changed_at = fields.DatetimeField(null=True)
    last_login_at = fields.DatetimeField(null=True)
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="users")


class UserAddress(Timestamped, table="user_addresses"):
    """An address that a user saved. At most one of a user is the default for shipping, and one for billing."""

    user = fields.ForeignKeyField("models.User", related_name="addresses")
    name = fields.TextField(default="")
    lastname = fields.TextField(default="")  # how the name ends
    street = fields.TextField(default="")
    number = fields.TextField(default="")
    complement = fields.TextField(default="")
    district = fields.TextField(default="")
    city = fields.TextField(default="")
    state = fields.TextField(default="")
    zipcode = fields.TextField(default="")
    country = fields.TextField(default="BR")
    phone = fields.TextField(default="")
    is_default_shipping = fields.BooleanField(default=False)
    is_default_billing = fields.BooleanField(default=False)


class WishlistItem(StoreModel, table="wishlist_items"):
    """A product that a user keeps for later."""

    user = fields.ForeignKeyField("models.User", related_name="wishlist_items")
    product = fields.ForeignKeyField("models.Product", related_name="wishlist_items")
    created_at = fields.DatetimeField(default=now)


class Usergroup(SoftDeletable, table="usergroups"):
    """A usergroup. `type` is `A` for administrators (with privileges) or `C` for customers; `status` is `A`, `D` or `H`."""

    name = fields.TextField()
    type = fields.TextField(default="C")
    status = fields.TextField(default="A")
    privileges = ArrayField(element_type="text", default=list)


class UsergroupMembership(StoreModel, table="usergroup_memberships"):
    """A user's membership of a usergroup. `status` is `A` active, `F` available, `P` pending, `D` declined."""

    usergroup = fields.ForeignKeyField("models.Usergroup", related_name="memberships")
    user = fields.ForeignKeyField("models.User", related_name="memberships")
    status = fields.TextField(default="A")
    created_at = fields.DatetimeField(default=now)
