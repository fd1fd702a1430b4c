"""Attachments and required products of a product; product boxes."""

from __future__ import annotations

from tortoise import fields

from models.tables.base import SoftDeletable, StoreModel, Timestamped


class Attachment(Timestamped, table="attachments"):
    """A product's attachment: its link, and the file if there is one. `filesize` in bytes, 0 when unknown."""

    product = fields.ForeignKeyField("models.Product", related_name="attachments")
    description = fields.TextField(default="")
    filename = fields.TextField()
    url = fields.TextField()
    filesize = fields.BigIntField(default=0)
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="attachments")


class RequiredProduct(StoreModel, table="required_products"):
    """A product that must be bought together with another."""

    product = fields.ForeignKeyField("models.Product", related_name="requirements")
    required = fields.ForeignKeyField("models.Product", related_name="required_by")
    position = fields.IntField(default=0)


class ProductBox(SoftDeletable, table="product_boxes"):
    """A box: inner dimensions in millimetres, own weight and maximum load in grams (0: unlimited)."""

    name = fields.TextField()
    height_mm = fields.BigIntField(default=0)
    width_mm = fields.BigIntField(default=0)
    length_mm = fields.BigIntField(default=0)
    weight_grams = fields.BigIntField(default=0)
    max_weight_grams = fields.BigIntField(default=0)
    status = fields.TextField(default="A")
    position = fields.IntField(default=0)


class BoxDescription(StoreModel, table="box_descriptions"):
    """The texts of a box in one language."""

    box = fields.ForeignKeyField("models.ProductBox", related_name="descriptions")
    lang_code = fields.TextField(default="pt")
    title = fields.TextField(default="")
    full_description = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")
