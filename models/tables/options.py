"""Product options, their variants, option combinations (variants with their own stock) and exceptions."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel, Timestamped


class Option(SoftDeletable, table="options"):
    """A product option. `type` is `S`, `R` or `C` (variants) or `I`, `T`, `F` (text, file or its name).

    `product` is null for a shared option. Only options with `inventory` are part of combinations. `allowed_extensions`, separated by
    commas, and `max_file_size`, in KiB, limit the files of the type `F`.
    """

    product = fields.ForeignKeyField("models.Product", null=True, related_name="own_options")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="options")
    name = fields.TextField()
    type = fields.TextField(default="S")
    required = fields.BooleanField(default=False)
    inventory = fields.BooleanField(default=False)
    status = fields.TextField(default="A")
    position = fields.IntField(default=0)
    description = fields.TextField(default="")
    allowed_extensions = fields.TextField(default="")
    max_file_size = fields.IntField(default=0)


class OptionFile(StoreModel, table="option_files"):
    """A shopper's file for an option, of a cart, an order or both. `file_id` names the content, which rows of several orders may share."""

    file_id = fields.UUIDField()
    option = fields.ForeignKeyField("models.Option", related_name="files")
    cart = fields.ForeignKeyField("models.Cart", null=True, related_name="option_files")
    order = fields.ForeignKeyField("models.Order", null=True, related_name="option_files")
    file_name = fields.TextField()
    mime_type = fields.TextField()
    bytes = fields.BigIntField()
    sha256 = fields.TextField(null=True)  # null: its upload is awaited
    created_at = fields.DatetimeField(default=now)


class OptionVariant(StoreModel, table="option_variants"):
    """A variant of an option. `modifier` is in cents (`modifier_type` `A`) or hundredths of a percent of the price (`P`)."""

    option = fields.ForeignKeyField("models.Option", related_name="variants")
    name = fields.TextField()
    modifier = fields.BigIntField(default=0)
    modifier_type = fields.TextField(default="A")
    position = fields.IntField(default=0)
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="option_variants")


class ProductOption(StoreModel, table="product_options"):
    """An option of a product, its own or a shared one."""

    product = fields.ForeignKeyField("models.Product", related_name="option_links")
    option = fields.ForeignKeyField("models.Option", related_name="product_links")
    position = fields.IntField(default=0)


class Combination(SoftDeletable, table="combinations"):
    """A combination of option variants with its own stock; `price_cents` is added to the product's price.

    `hash` is `<option>_<variant>_…` in the order of the option ids. `stock` is generated: on hand minus reserved. Size, GTIN and freight
    are the product's where they are null.
    """

    product = fields.ForeignKeyField("models.Product", related_name="combinations")
    hash = fields.TextField()
    sku = fields.TextField(default="")
    price_cents = fields.BigIntField(default=0)
    on_hand = fields.BigIntField(default=0)
    reserved = fields.BigIntField(default=0)
    stock = fields.BigIntField(generated=True)
    position = fields.IntField(default=0)
    length_mm = fields.BigIntField(null=True)
    width_mm = fields.BigIntField(null=True)
    height_mm = fields.BigIntField(null=True)
    gtin = fields.TextField(null=True)
    shipping_freight_cents = fields.BigIntField(null=True)
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    image_width = fields.IntField(default=0)
    image_height = fields.IntField(default=0)
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="combinations")


class CombinationChoice(StoreModel, table="combination_choices"):
    """One variant of a combination."""

    combination = fields.ForeignKeyField("models.Combination", related_name="choices")
    option = fields.ForeignKeyField("models.Option", related_name="combination_choices")
    variant = fields.ForeignKeyField("models.OptionVariant", related_name="combination_choices")


class OptionException(Timestamped, table="option_exceptions"):
    """A forbidden (`F`) or the only allowed (`A`) combination of variants."""

    product = fields.ForeignKeyField("models.Product", related_name="exceptions")
    type = fields.TextField()
    hash = fields.TextField()


class ExceptionChoice(StoreModel, table="exception_choices"):
    """One variant of an exception."""

    exception = fields.ForeignKeyField("models.OptionException", related_name="choices")
    option = fields.ForeignKeyField("models.Option", related_name="exception_choices")
    variant = fields.ForeignKeyField("models.OptionVariant", related_name="exception_choices")
