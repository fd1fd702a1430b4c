"""The store's own images and files."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel, Timestamped


class MediaFile(Timestamped, table="media_files"):
    """An image or another file of the store. `status` is `pending`, `ready` or `failed`; width and height in pixels, 0 for no image.

    A file with a `source_url` is fetched by the worker, at `next_attempt_at`. One whose content another has already keeps only its source:
    `original` is the other. `user_id` is the customer, `vendor_id` the vendor whose user uploaded it. `unused_since` is set by the job that
    deletes what nothing refers to. `avif_due_at` is null once an image's sizes in AVIF are stored or can't be rendered; `fetching_until`
    is the lease of a worker that fetches the file.
    """

    sha256 = fields.TextField(null=True)
    file_name = fields.TextField(default="")
    mime_type = fields.TextField(default="")
    bytes = fields.BigIntField(default=0)
    width = fields.IntField(default=0)
    height = fields.IntField(default=0)
    blurhash = fields.TextField(default="")
    alt = fields.TextField(default="")
    status = fields.TextField(default="pending")
    error = fields.TextField(default="")
    source_url = fields.TextField(null=True)
    source_etag = fields.TextField(default="")
    source_modified = fields.TextField(default="")
    attempts = fields.IntField(default=0)
    next_attempt_at = fields.DatetimeField(null=True)
    original = fields.ForeignKeyField("models.MediaFile", null=True, related_name="copies")
    user_id = fields.BigIntField(null=True)
    vendor_id = fields.BigIntField(null=True)
    unused_since = fields.DatetimeField(null=True)
    avif_due_at = fields.DatetimeField(null=True, default=now)
    avif_attempts = fields.IntField(default=0)
    fetching_until = fields.DatetimeField(null=True)


class VendorBanner(StoreModel, table="vendor_banners"):
    """The banner of a vendor's page: its link, and the file if there is one."""

    vendor = fields.ForeignKeyField("models.Vendor", related_name="banners")
    image_url = fields.TextField()
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="vendor_banners")


class ReviewImage(StoreModel, table="review_images"):
    """A picture of a review: its link, and the file if there is one."""

    post = fields.ForeignKeyField("models.DiscussionPost", related_name="images")
    position = fields.IntField(default=0)
    image_url = fields.TextField()
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="review_images")
