"""Categories, products, their images and features."""

from __future__ import annotations

from tortoise import fields

from models.tables.base import SoftDeletable, StoreModel


class Category(SoftDeletable, table="categories"):
    """A node of the category tree. `id_path` lists the ids from the root (`3/17/42`); `status` is `A`, `D` or `H`."""

    name = fields.TextField()
    slug = fields.TextField(default="")  # a trigger makes an empty one from the name
    parent = fields.ForeignKeyField("models.Category", null=True, related_name="children")
    id_path = fields.TextField(default="")
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")
    description = fields.TextField(default="")
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="categories")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="categories")
    page_title = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")


class Product(SoftDeletable, table="products"):
    """A product of a vendor. Prices in cents of the store's currency, weight in grams, size of a packed unit in millimetres.

    A size of 0 is unknown. `shipping_freight_cents` is what each unit adds to the price of shipping.
    `stock` is generated: on hand minus reserved. `tracking` is `B` (stock is tracked) or `D` (it is not: the product can always be sold).
    `name_folded` and `search` are generated from the texts. `sales_rank` is written by the worker, 0 without sales.
    """

    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="products")
    category = fields.ForeignKeyField("models.Category", null=True, related_name="main_products")
    name = fields.TextField()
    name_folded = fields.TextField(generated=True)
    sku = fields.TextField(default="")
    slug = fields.TextField()
    description = fields.TextField(default="")
    short_description = fields.TextField(default="")
    status = fields.TextField(default="A")
    price_cents = fields.BigIntField()
    compare_at_cents = fields.BigIntField(null=True)
    on_hand = fields.BigIntField(default=0)
    reserved = fields.BigIntField(default=0)
    stock = fields.BigIntField(generated=True)
    tracking = fields.TextField(default="B")
    weight_grams = fields.BigIntField(default=0)
    length_mm = fields.BigIntField(default=0)
    width_mm = fields.BigIntField(default=0)
    height_mm = fields.BigIntField(default=0)
    gtin = fields.TextField(default="")
    shipping_freight_cents = fields.BigIntField(default=0)
    is_edp = fields.BooleanField(default=False)
    free_shipping = fields.BooleanField(default=False)
    min_quantity = fields.IntField(default=0)
    max_quantity = fields.IntField(default=0)
    quantity_step = fields.IntField(default=0)
    quantity_choices = fields.IntField(default=0)
    low_stock_limit = fields.IntField(default=0)
    available_since = fields.DatetimeField(null=True)
    out_of_stock_action = fields.TextField(default="N")
    zero_price_action = fields.TextField(default="R")
    unlimited_download = fields.BooleanField(default=False)
    promo_text = fields.TextField(default="")
    exception_type = fields.TextField(default="F")
    option_order = fields.TextField(default="P")
    details_layout = fields.TextField(default="")
    search_words = fields.TextField(default="")
    box_min_quantity = fields.IntField(default=0)
    box_max_quantity = fields.IntField(default=0)
    sales_rank = fields.BigIntField(default=0)
    ncm = fields.TextField(default="")
    page_title = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")


class ProductCategory(StoreModel, table="product_categories"):
    """A category of a product, including the main one."""

    product = fields.ForeignKeyField("models.Product", related_name="placements")
    category = fields.ForeignKeyField("models.Category", related_name="placements")
    position = fields.IntField(default=0)


class ProductTag(StoreModel, table="product_tags"):
    """A word by which products are listed together, in lower case."""

    product = fields.ForeignKeyField("models.Product", related_name="tags")
    tag = fields.TextField()


class ProductCollection(SoftDeletable, table="collections"):
    """Products picked by hand, with a page of their own. `status` is `A` or `D`."""

    name = fields.TextField()
    slug = fields.TextField(default="")  # a trigger makes an empty one from the name
    description = fields.TextField(default="")
    status = fields.TextField(default="A")
    position = fields.IntField(default=0)
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="collections")
    page_title = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")


class CollectionProduct(StoreModel, table="collection_products"):
    """A product of a collection, and its place there."""

    collection = fields.ForeignKeyField("models.ProductCollection", related_name="products")
    product = fields.ForeignKeyField("models.Product", related_name="collection_links")
    position = fields.IntField(default=0)


class ProductImage(StoreModel, table="product_images"):
    """An image: its link, and the file if there is one; position 0 is the main image. Width and height in pixels, 0 when unknown."""

    product = fields.ForeignKeyField("models.Product", related_name="images")
    url = fields.TextField()
    alt = fields.TextField(default="")
    position = fields.IntField(default=0)
    width = fields.IntField(default=0)
    height = fields.IntField(default=0)
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="product_images")


class Feature(SoftDeletable, table="features"):
    """A product feature. `type` is one of `S T N D C E B A` or `G` (a group, referenced by `parent`).

    A search is narrowed down by the variants of `filterable` features.
    """

    name = fields.TextField()
    type = fields.TextField(default="T")
    parent = fields.ForeignKeyField("models.Feature", null=True, related_name="children")
    status = fields.TextField(default="A")
    position = fields.IntField(default=0)
    prefix = fields.TextField(default="")
    suffix = fields.TextField(default="")
    comparison = fields.BooleanField(default=False)
    display_on_product = fields.BooleanField(default=True)
    display_on_catalog = fields.BooleanField(default=False)
    filterable = fields.BooleanField(default=False)


class FeatureVariant(StoreModel, table="feature_variants"):
    """A variant of a select, extended, brand or author feature."""

    feature = fields.ForeignKeyField("models.Feature", related_name="variants")
    name = fields.TextField()
    position = fields.IntField(default=0)


class FeatureCategory(StoreModel, table="feature_categories"):
    """A category whose products have the feature; without any it applies to all categories."""

    feature = fields.ForeignKeyField("models.Feature", related_name="category_links")
    category = fields.ForeignKeyField("models.Category", related_name="feature_links")


class FeatureValue(StoreModel, table="feature_values"):
    """A product's value of a feature: text (`value`), number (`value_int`), variant, or several (`FeatureValueVariant`)."""

    product = fields.ForeignKeyField("models.Product", related_name="feature_values")
    feature = fields.ForeignKeyField("models.Feature", related_name="values")
    variant = fields.ForeignKeyField("models.FeatureVariant", null=True, related_name="values")
    value = fields.TextField(default="")
    value_int = fields.BigIntField(null=True)


class FeatureValueVariant(StoreModel, table="feature_value_variants"):
    """A variant of a value of type `M`."""

    feature_value = fields.ForeignKeyField("models.FeatureValue", related_name="choices")
    variant = fields.ForeignKeyField("models.FeatureVariant", related_name="choices")


class VariationGroup(SoftDeletable, table="variation_groups"):
    """Products between which a storefront switches, because they differ in the variants of some features."""

    code = fields.TextField()


class VariationGroupFeature(StoreModel, table="variation_group_features"):
    """A feature of a variation group. `purpose` is `group_catalog_item` (products of their own) or `group_variation_catalog_item`."""

    group = fields.ForeignKeyField("models.VariationGroup", related_name="features")
    feature = fields.ForeignKeyField("models.Feature", related_name="variation_groups")
    purpose = fields.TextField()
    position = fields.IntField(default=0)


class VariationGroupProduct(StoreModel, table="variation_group_products"):
    """A product of a variation group. Of products that are shown as one, the first by `position` is the default."""

    group = fields.ForeignKeyField("models.VariationGroup", related_name="members")
    product = fields.OneToOneField("models.Product", related_name="variation")
    position = fields.IntField(default=0)
