"""Vendors, reviews and the external ids of imported records."""

from __future__ import annotations

from tortoise import fields

from models.tables.base import SoftDeletable, StoreModel, Timestamped


class Vendor(SoftDeletable, table="vendors"):
    """A vendor of the marketplace (a company in the legacy API). `status` is `A`, `D`, `P` or `N`.

    `commission` is a decimal text: an amount when `commission_type` is `A`, a percentage when `P`. `first_commission` is that of order
    lines which kept none; a trigger sets it when the rate changes for the first time. `recipient_id` names the vendor at a gateway that
    divides payments.
    """

    name = fields.TextField()
    slug = fields.TextField(default="")  # a trigger makes an empty one from the name
    email = fields.TextField(default="")
    status = fields.TextField(default="A")
    phone = fields.TextField(default="")
    address = fields.TextField(default="")
    city = fields.TextField(default="")
    state = fields.TextField(default="")
    country = fields.TextField(default="BR")
    zipcode = fields.TextField(default="")
    cnpj = fields.TextField(null=True)
    url = fields.TextField(default="")
    commission = fields.TextField(default="0.00")
    commission_type = fields.TextField(default="P")
    shippings = fields.JSONField[dict[str, object]](default=dict)
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="vendors")
    recipient_id = fields.TextField(default="")
    description = fields.TextField(default="")
    page_title = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")
    first_commission = fields.TextField(null=True)
    first_commission_type = fields.TextField(null=True)


class DiscussionThread(StoreModel, table="discussion_threads"):
    """A discussion of one record. `object_type` is `P` product, `C` category, `A` page, `O` order, `E` store.

    `type` is `C` comments, `R` ratings, `B` both.
    """

    object_type = fields.TextField()
    object_id = fields.BigIntField()
    type = fields.TextField(default="B")


class DiscussionPost(Timestamped, table="discussion_posts"):
    """A review or comment. `rating` is 1 to 5 or null; `status` is `A` published, `D` hidden, `P` awaiting approval.

    `one_per_user` is true of a user's review of a product, of which there is one; false of those that were imported or written before.
    """

    thread = fields.ForeignKeyField("models.DiscussionThread", related_name="posts")
    user = fields.ForeignKeyField("models.User", null=True, related_name="posts")
    name = fields.TextField(default="")
    message = fields.TextField(default="")
    rating = fields.SmallIntField(null=True)
    status = fields.TextField(default="A")
    ip_address = fields.TextField(default="")
    one_per_user = fields.BooleanField(default=False)


class ExternalReference(StoreModel, table="external_references"):
    """The id of an imported record in its source, which makes imports idempotent; `digest` is that of the record there.

    `missing` are the records that it refers to there and that were not here when it was written: `[table, number]` each.
    """

    source = fields.TextField()
    kind = fields.TextField()
    external_id = fields.TextField()
    local_id = fields.BigIntField()
    digest = fields.BinaryField(null=True)
    missing = fields.JSONField[list[list[object]]](null=True)
