"""Keep what else belongs to a product, and the boxes things are packed in."""

from __future__ import annotations

from tortoise import fields

from models.base import Erasable, StoreManager, StoreModel, Timestamped


class Attachment(Timestamped):
    """A file that goes with a product: a link, never fetched. `filesize` in bytes, 0 when unknown."""

    product = fields.ForeignKeyField("models.Product", related_name="attachments")
    description = fields.TextField(default="")
    filename = fields.TextField()
    url = fields.TextField()
    filesize = fields.BigIntField(default=0)
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")

    class Meta:
        table = "attachments"
        manager = StoreManager()


class RequiredProduct(StoreModel):
    """Say that a product is sold only together with another."""

    product = fields.ForeignKeyField("models.Product", related_name="requirements")
    required = fields.ForeignKeyField("models.Product", related_name="required_by")
    position = fields.IntField(default=0)

    class Meta:
        table = "required_products"
        manager = StoreManager()


class ProductBox(Erasable):
    """A box: inner measures in millimetres, its own weight and the most it carries in grams (0: any)."""

    name = fields.TextField()
    height_mm = fields.BigIntField(default=0)
    width_mm = fields.BigIntField(default=0)
    length_mm = fields.BigIntField(default=0)
    weight_grams = fields.BigIntField(default=0)
    max_weight_grams = fields.BigIntField(default=0)
    status = fields.TextField(default="A")
    position = fields.IntField(default=0)

    class Meta:
        table = "product_boxes"
        manager = StoreManager()


class BoxDescription(StoreModel):
    """What is said of a box in one language."""

    box = fields.ForeignKeyField("models.ProductBox", related_name="descriptions")
    lang_code = fields.TextField(default="pt")
    title = fields.TextField(default="")
    full_description = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")

    class Meta:
        table = "box_descriptions"
        manager = StoreManager()
