"""Describe products."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import PRODUCT_STATUSES
from kernel.json_schema import BOOLEAN, FREE_OBJECT, STRING, array, described, enum, map_of, one_of
from kernel.product_fields import SEO_FIELDS
from rest_facade.legacy import value_types as types
from rest_facade.legacy.reshape import is_cscart
from rest_facade.legacy.resource import (
    IN_CSCART,
    SEARCH,
    CombinedFilter,
    NestedList,
    QueryFilter,
    Record,
    RecordField,
    Resource,
    id_field,
    same_names,
    split_ids,
)
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.features import (
    CSCART_FEATURES_OF_PRODUCT,
    FEATURES_OF_PRODUCT,
    PRODUCT_FEATURES,
    VARIANTS_OF_FEATURES,
)
from rest_facade.legacy.resources.images import IMAGE, IMAGES
from rest_facade.legacy.resources.product_filters import SEARCHED, parse_category, parse_search

# What CS-Cart's records show and no product has here: programs with typed records read it.
_WITHOUT_EFFECT = {
    **dict.fromkeys(("length", "width", "height", "return_period", "age_limit"), "0"),
    **dict.fromkeys(("edp_shipping", "is_returnable", "is_pbp", "is_op", "is_oper", "age_verification"), "N"),
    "localization": "",
}


def _add_variation_features(record: Record) -> None:
    """Replace the numbers of the features in which the products of a group differ by this product's values of them."""
    numbers = record.get("variation_features")
    if numbers is not None:
        record["variation_features"] = [
            dict(value)
            for value in record["product_features"]
            if value["feature"] is not None and value["feature"]["feature_id"] in numbers
        ]


def _complete_update(changes: Record, record: Record) -> Record:
    """Leave out an unchanged main category that the body's categories lack: it was taken from the product."""
    if "category_ids" not in changes or str(changes.get("main_category")) != str(record["main_category"]):
        return changes
    ids = changes["category_ids"]
    remaining = {str(each).strip() for each in (ids.split(",") if isinstance(ids, str) else types.as_list(ids))}
    return {
        name: value
        for name, value in changes.items()
        if name != "main_category" or str(record["main_category"]) in remaining
    }


_VARIATION_FEATURES = types.rendered_by(
    # PHP's empty map.
    lambda values: CSCART_FEATURES_OF_PRODUCT.render(values) or [],  # type: ignore[misc]  # it has a renderer
    schema=described(
        one_of(map_of(FREE_OBJECT), array(FREE_OBJECT)),
        "Entries of `product_features`, by `feature_id`; `[]` for none.",
    ),
)
_PRODUCT_TYPE = types.rendered_by(lambda parent: "V" if parent else "P", schema=enum(("P", "V")))

PRODUCTS = Resource(
    path="products",
    privilege_area="products",
    open_to_vendors=True,
    protected_from_vendors=("company_id",),
    texts=("product", "short_description", "full_description", "promo_text", "seo_name", "search_words", *SEO_FIELDS),
    fields=(
        id_field("product_id"),
        RecordField("product", types.TEXT, "name", "name", label="product (name)"),
        RecordField("product_code", types.TEXT, "sku", "sku"),
        RecordField("price", types.MONEY, "price_cents", "price_cents"),
        RecordField("list_price", types.OPTIONAL_MONEY, "compare_at_cents", "compare_at_cents"),
        RecordField("amount", types.BIGINT, "stock", "stock"),
        RecordField("status", types.code(PRODUCT_STATUSES), "status", "status"),
        RecordField("company_id", types.ID, "vendor_id", "company_id"),
        RecordField("company_name", types.TEXT, filter_name="vendor_name"),
        RecordField("category_ids", types.IDS, "category_ids", "category_id", cscart_type=types.INTEGER_IDS),
        RecordField("main_category", types.ID, "category_id", "main_category_id", cscart_type=types.INTEGER_ID),
        RecordField("main_pair", IMAGE, "main_image", source="main_image { ...LegacyPicture }", cscart_absent="empty"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField("updated_timestamp", types.UNIX_TIME, filter_name="updated_at"),
        RecordField("weight", types.WEIGHT, "weight_grams", "weight_grams"),
        *(
            RecordField(f"box_{name}", types.LENGTH, f"{name}_mm", f"{name}_mm", parent_object="shipping_params")
            for name in ("length", "width", "height")
        ),
        RecordField("shipping_freight", types.MONEY, "shipping_freight_cents", "shipping_freight_cents"),
        RecordField("gtin", types.TEXT, "gtin", "gtin"),
        RecordField("short_description", types.TEXT, "short_description", "short_description"),
        RecordField("full_description", types.TEXT, "description", "description"),
        *same_names(types.FLAG, "is_edp", "free_shipping"),
        # CS-Cart 4 to 4.11 has O for stock of combinations, which a product that has them always has here.
        RecordField("tracking", types.choice("B", "D", O="B"), "tracking", "tracking"),
        RecordField("min_qty", types.INTEGER, "min_quantity", "min_quantity"),
        RecordField("max_qty", types.INTEGER, "max_quantity", "max_quantity"),
        RecordField("qty_step", types.INTEGER, "quantity_step", "quantity_step"),
        RecordField("list_qty_count", types.INTEGER, "quantity_choices", "quantity_choices"),
        RecordField("low_avail_limit", types.INTEGER, "low_stock_limit", "low_stock_limit"),
        RecordField(
            "avail_since", types.OPTIONAL_TIME, "available_since", "available_since", source="available_since_unix"
        ),
        RecordField("out_of_stock_actions", types.choice("N", "B", "S"), "out_of_stock_action", "out_of_stock_action"),
        RecordField("zero_price_action", types.choice("R", "P", "A"), "zero_price_action", "zero_price_action"),
        RecordField("unlimited_download", types.FLAG, "unlimited_download", "unlimited_download"),
        *same_names(types.TEXT, "promo_text", "ncm"),
        RecordField("tax_ids", types.IDS, "tax_ids", "tax_id"),
        # CS-Cart's comma-separated numbers: 0, since products are for all customers.
        RecordField("usergroup_ids", replace(types.TEXT, schema=STRING), constant="0"),
        RecordField("seo_name", types.TEXT, "slug", "slug"),
        RecordField("base_price", types.MONEY, filter_name="price_cents"),
        *same_names(types.TEXT, *SEO_FIELDS),
        RecordField("parent_product_id", types.ID, filter_name="variation_parent_id", source="variation_parent_number"),
        RecordField("variation_group_id", types.ID, "variation_group_id", "variation_group_id"),
        RecordField("image_pairs", IMAGES, "more_images", source="more_images { ...LegacyPicture }"),
        RecordField(
            "product_features",
            FEATURES_OF_PRODUCT,
            "features",
            source="features { ...LegacyFeatureValue }",
            cscart_type=CSCART_FEATURES_OF_PRODUCT,
        ),
        RecordField(
            "variation_features", _VARIATION_FEATURES, source="variation_feature_numbers", permission=IN_CSCART
        ),
        RecordField("product_type", _PRODUCT_TYPE, source="variation_parent_number", permission=IN_CSCART),
        RecordField("has_options", replace(types.RAW, schema=BOOLEAN), permission=IN_CSCART),
        *(
            RecordField(name, value_type, column, source=column, permission=IN_CSCART)
            for name, value_type, column in (
                ("exceptions_type", types.choice("F", "A"), "exception_type"),
                ("options_type", types.choice("P", "S"), "option_order"),
                ("details_layout", types.TEXT, "details_layout"),
            )
        ),
        *(
            RecordField(name, replace(types.TEXT, schema=STRING), permission=IN_CSCART, constant=value)
            for name, value in _WITHOUT_EFFECT.items()
        ),
    ),
    detail_fields=(
        RecordField("variation_group_code", types.TEXT, filter_name="variation_group_code"),
        RecordField("search_words", types.TEXT, "search_words", source="search_words", permission=IN_CSCART),
        *(
            RecordField(
                f"{end}_items_in_box",
                types.INTEGER,
                f"box_{end}_quantity",
                source=f"box_{end}_quantity",
                permission=IN_CSCART,
                parent_object="shipping_params",
            )
            for end in ("min", "max")
        ),
    ),
    input_fields=(RecordField("variation_feature_values", VARIANTS_OF_FEATURES, "features"),),
    permissions={IN_CSCART: is_cscart},
    prepare=_add_variation_features,
    required=("product", "price"),
    cscart_defaults={"price": "0.00"},
    coupled=(("category_ids", "main_category"),),
    complete_update=_complete_update,
    message_terms={
        "vendor": "company_id",
        "tax": "tax_ids",
        "taxes": "tax_ids",
        "url": "image_path",
        "variation_group": "variation_group_id",
    },
    filters=(
        SEARCH,
        QueryFilter("pcode", "sku", types.TEXT, keys_rows=False),
        QueryFilter("price_from", "price_from", types.MONEY, multiple=False, keys_rows=False),
        QueryFilter("price_to", "price_to", types.MONEY, multiple=False, keys_rows=False),
        QueryFilter("amount_from", "stock_from", types.BIGINT, multiple=False, keys_rows=False),
        QueryFilter("amount_to", "stock_to", types.BIGINT, multiple=False, keys_rows=False),
        split_ids("order_ids", "order_id"),
        QueryFilter("product_type", "product_type", types.TEXT, keys_rows=False),
        QueryFilter("has_variation_group", "has_variation_group", types.FLAG, multiple=False, keys_rows=False),
        CombinedFilter(("category_id", "cid", "subcats"), parse_category, keying_parameters=("category_id",)),
    ),
    cscart_filters=(CombinedFilter(("q", *SEARCHED), parse_search, keying_parameters=("q",)),),
    sorts=dict(
        product="NAME",
        price="PRICE",
        list_price="COMPARE_AT",
        amount="STOCK",
        timestamp="CREATED_AT",
        updated_timestamp="UPDATED_AT",
        code="SKU",
        product_code="SKU",
        status="STATUS",
        product_id="ID",
    ),
    cscart_sorts=dict.fromkeys(("popularity", "bestsellers", "sales_amount"), "BEST_SELLING"),
    default_sort=("timestamp", "desc"),
    subroutes=(
        NestedList("discussions", "ProductDiscussions", DISCUSSIONS, parent_filter="product_id"),
        NestedList("features", "ProductFeatures", PRODUCT_FEATURES),
    ),
)
