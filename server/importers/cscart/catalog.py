"""Convert categories, features and products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domain.catalog.categories import CATEGORY_FIELDS
from domain.catalog.feature_values import (
    GROUP,
    NUMBER_OR_VARIANT,
    TYPES_WITH_VARIANTS,
    FeatureDefinition,
    ParsedFeatureValue,
    parse_feature_value,
)
from domain.catalog.features import FEATURE_FIELDS
from domain.catalog.features import VARIANT_FIELDS as FEATURE_VARIANT_FIELDS
from domain.catalog.product_draft import ProductDraft
from domain.catalog.product_writing import choose_slugs
from domain.catalog.variation_groups import PURPOSES, read_code
from domain.imports.numbered import ImportedRecord, ImportKind, ImportTable, PartNumbers, Row, Rows
from kernel.errors import ValidationFailed
from kernel.fields import read_fields
from kernel.product_fields import IMAGE_FIELDS, PRODUCT_FIELDS, SEO_FIELDS
from kernel.text import InvalidValue
from models.tables.catalog import (
    Category,
    Feature,
    FeatureCategory,
    FeatureValue,
    FeatureValueVariant,
    FeatureVariant,
    Product,
    ProductCategory,
    ProductImage,
    VariationGroup,
    VariationGroupFeature,
    VariationGroupProduct,
)
from models.tables.taxes import ProductTax
from server.importers.cscart.addresses import former_addresses, redirect_rows
from server.importers.cscart.context import Context
from server.importers.cscart.tags import TAGS, tag_rows
from server.importers.cscart.values import (
    NotBrought,
    Record,
    as_number,
    cents,
    entries,
    flag,
    grams,
    integer,
    moment,
    number,
    numbers,
    objects,
    own_number,
    position,
    rounded,
    shipping_params,
    text,
)

# --- Categories ------------------------------------------------------------------------------------------------------------------

# A shop shows the image of a category in the single record, or not at all: where it shows none, the one here stays.
_IMAGE_HERE = {
    "image_url": "CASE excluded.image_url WHEN '' THEN categories.image_url ELSE excluded.image_url END",
    "image_alt": "CASE excluded.image_url WHEN '' THEN categories.image_alt ELSE excluded.image_alt END",
    "media_id": "CASE WHEN excluded.image_url IN ('', categories.image_url) THEN categories.media_id END",
}
CATEGORY = ImportKind("category", ImportTable(Category, on_update=_IMAGE_HERE), former_addresses("categories"))
_MAX_PATH = 500


def convert_category(context: Context, record: Record) -> Rows:
    """Convert a category, after its parent."""
    category = own_number(record, "category_id")
    values = {
        "name": text(record, "category"),
        "position": position(record),
        "status": text(record, "status", "A"),
        "description": text(record, "description"),
        "slug": text(record, "seo_name"),
        **{name: text(record, name) for name in SEO_FIELDS},
    }
    columns = context.columns(CATEGORY_FIELDS, values, droppable=("slug", *SEO_FIELDS))
    image = _link(context, record.get("main_pair")) or {}
    parent = context.required(record, "parent_id", "categories") if number(record, "parent_id") else None
    path = str(category) if parent is None else f"{context.category_paths[parent]}/{category}"
    if str(category) in path.split("/")[:-1]:
        raise NotBrought("it would stand below itself, since a category above it was moved here")
    if len(path) > _MAX_PATH:
        raise NotBrought("the category would stand too deep in the tree")
    context.category_paths[category] = path
    row = {
        "id": category,
        **columns,
        "image_url": image.get("url", ""),
        "image_alt": image.get("alt", ""),
        "parent_id": parent,
        "id_path": path,
        "vendor_id": context.optional(record, "company_id", "vendors"),
        **context.times(moment(record, "timestamp")),
    }
    return {"categories": [row], "redirects": redirect_rows(context, "categories", category, record, parent=parent)}


# --- Features --------------------------------------------------------------------------------------------------------------------

FEATURE = ImportKind(
    "feature",
    ImportTable(Feature, without=("filterable",)),
    ImportTable(FeatureVariant, owner="feature_id", numbers=PartNumbers.KEPT),
    ImportTable(FeatureCategory, owner="feature_id"),
)


def convert_feature(context: Context, record: Record) -> Rows:
    """Convert a feature with its variants; a hidden one is disabled."""
    feature = own_number(record, "feature_id")
    values = {
        "name": text(record, "description") or text(record, "internal_name"),
        "type": text(record, "feature_type", "T"),
        "status": "A" if text(record, "status", "A") == "A" else "D",
        "position": position(record),
        "prefix": text(record, "prefix"),
        "suffix": text(record, "suffix"),
        "comparison": flag(record, "comparison"),
        "display_on_product": flag(record, "display_on_product", default=True),
        "display_on_catalog": flag(record, "display_on_catalog"),
    }
    columns = context.columns(FEATURE_FIELDS, values, droppable=("prefix", "suffix"))
    group = "group_id" if number(record, "group_id") else "parent_id"
    variants = _feature_variants(record.get("variants")) if columns["type"] in TYPES_WITH_VARIANTS else []
    categories = context.present(numbers(record, "categories_path"), "category", "categories")
    context.features[feature] = FeatureDefinition(
        feature,
        columns["type"],
        {variant["name"]: variant["id"] for variant in reversed(variants)},
        {variant["id"]: variant["id"] for variant in variants},
    )
    row = {"id": feature, **columns, "parent_id": context.optional(record, group, "features"), **context.times(None)}
    return {
        "features": [row],
        "feature_variants": [{**variant, "feature_id": feature} for variant in variants],
        "feature_categories": [{"feature_id": feature, "category_id": category} for category in categories],
    }


def _feature_variants(value: object) -> list[Row]:
    variants = {}
    for key, entry in entries(value).items():
        if not isinstance(entry, dict):
            continue
        variant_id = as_number(entry.get("variant_id", key))
        if variant_id is not None:
            columns = {"name": text(entry, "variant"), "position": position(entry)}
            variants[variant_id] = {"id": variant_id, **read_fields(FEATURE_VARIANT_FIELDS, columns, creating=True)}
    return list(variants.values())


# --- Products --------------------------------------------------------------------------------------------------------------------

PRODUCT = ImportKind(
    "product",
    ImportTable(
        Product,
        without=("reserved",),
        # What open orders here have reserved stays reserved.
        on_update={"on_hand": "excluded.on_hand + products.reserved"},
    ),
    ImportTable(ProductCategory, owner="product_id"),
    ImportTable(ProductImage, owner="product_id", numbers=PartNumbers.PREFERRED),
    ImportTable(ProductTax, owner="product_id"),
    TAGS,
    former_addresses("products"),
    ImportTable(FeatureValue, owner="product_id"),
    ImportTable(
        FeatureValueVariant,
        without=("feature_value_id",),
        # The value, to which the choices belong, was written by the statement before and has no number.
        insert=(
            "INSERT INTO feature_value_variants (tenant_id, public_id, feature_value_id, variant_id)"
            " SELECT $1, r.public_id, v.id, r.variant_id"
            " FROM jsonb_to_recordset($2::text::jsonb) AS r (public_id uuid, product_id bigint, feature_id bigint, variant_id bigint)"
            " JOIN feature_values v ON v.tenant_id = $1 AND v.product_id = r.product_id AND v.feature_id = r.feature_id"
        ),
        owner="feature_value_id",
        cascades=True,
    ),
)
_QUANTITIES = {
    "min_quantity": "min_qty",
    "max_quantity": "max_qty",
    "quantity_step": "qty_step",
    "quantity_choices": "list_qty_count",
    "low_stock_limit": "low_avail_limit",
}
_NUMBERS_OR_DATES = ("N", "O", "D")
# Multi-Vendor's statuses of products that require approval and were disapproved.
_STATUSES = {"R": "P", "X": "D"}
_EVERYBODY = "0"
_BOX = ("min_items_in_box", "max_items_in_box", "box_length", "box_width", "box_height")


def convert_product(context: Context, record: Record) -> Rows:
    """Convert a product with its categories, images (as links), taxes and feature values."""
    product = own_number(record, "product_id")
    values = {
        "name": text(record, "product"),
        "sku": text(record, "product_code"),
        "slug": text(record, "seo_name"),
        "description": text(record, "full_description"),
        "short_description": text(record, "short_description"),
        "status": _STATUSES.get(text(record, "status"), text(record, "status", "A")),
        "price_cents": cents(record, "price"),
        "compare_at_cents": cents(record, "list_price") or None,
        "stock": max(0, integer(record, "amount")),
        "tracking": "D" if text(record, "tracking") == "D" else "B",
        "weight_grams": grams(record, "weight"),
        **_box(record),
        "gtin": text(record, "gtin"),
        "shipping_freight_cents": max(0, cents(record, "shipping_freight")),
        "exception_type": _choice(record, "exceptions_type", "FA"),
        "option_order": _choice(record, "options_type", "PS"),
        "details_layout": text(record, "details_layout"),
        "is_edp": flag(record, "is_edp"),
        "free_shipping": flag(record, "free_shipping"),
        **{column: position(record, name) for column, name in _QUANTITIES.items()},
        "available_since": moment(record, "avail_since"),
        "out_of_stock_action": _choice(record, "out_of_stock_actions", "NBS"),
        "zero_price_action": _choice(record, "zero_price_action", "RPA"),
        "unlimited_download": flag(record, "unlimited_download"),
        "promo_text": text(record, "promo_text"),
        "ncm": text(record, "ncm"),
        "search_words": text(record, "search_words"),
        **{name: text(record, name) for name in SEO_FIELDS},
    }
    droppable = (*SEO_FIELDS, "sku", "slug", "gtin", "ncm", "details_layout")
    columns = {
        **dict.fromkeys(("sku", "slug", "gtin", "ncm"), ""),
        **context.columns(PRODUCT_FIELDS, values, droppable=droppable),
    }
    columns["on_hand"] = columns.pop("stock")
    _note_losses(context, record)
    category_ids = _categories(context, record)
    created = moment(record, "timestamp")
    row = {
        "id": product,
        **columns,
        "vendor_id": context.optional(record, "company_id", "vendors"),
        "category_id": category_ids[0] if category_ids else None,
        **context.times(created, moment(record, "updated_timestamp", "timestamp")),
    }
    taxes = context.present(numbers(record, "tax_ids"), "tax", "taxes")
    return {
        "products": [row],
        "product_categories": [
            {"product_id": product, "category_id": category, "position": place}
            for place, category in enumerate(category_ids)
        ],
        "product_images": _images(context, product, record),
        "product_taxes": [{"product_id": product, "tax_id": tax} for tax in taxes],
        **tag_rows(context, product, record),
        "redirects": redirect_rows(
            context, "products", product, record, parent=_main_category(record), of="categories"
        ),
        **_feature_values(context, product, record),
    }


async def choose_product_slugs(context: Context, records: Sequence[ImportedRecord]) -> None:
    """Set slugs that no other product has; CS-Cart's need not be unique, and may be missing."""
    drafts = [
        ProductDraft({}, row, {}, product_id=record.number) for record in records for row in record.rows["products"]
    ]
    await choose_slugs(context.scope, drafts)


def _note_losses(context: Context, record: Record) -> None:
    """Note what a product has at the source and not here."""
    if integer(record, "amount") < 0:
        context.note("amount is below zero; 0 was brought")
    usergroups = text(record, "usergroup_ids").split(",")
    if any(usergroups) and _EVERYBODY not in usergroups:
        context.note(f"usergroup_ids {','.join(usergroups)} restrict who sees it; here everybody does")
    if len(objects(record.get("prices"))) > 1:
        context.note("prices by quantity and usergroup are left out")


def _choice(record: Record, name: str, codes: str) -> str:
    """Return one of the codes, the first where the record has another."""
    code = text(record, name)
    return code if code and code in codes else codes[0]


def _box(record: Record) -> Row:
    """Return the size of a box, and how many units are in it. CS-Cart has no unit of length: centimetres."""
    box = {**shipping_params(record), **{name: record[name] for name in _BOX if name in record}}
    sizes = {f"{name}_mm": max(0, rounded(box, f"box_{name}", 10)) for name in ("length", "width", "height")}
    return sizes | {f"box_{end}_quantity": position(box, f"{end}_items_in_box") for end in ("min", "max")}


def _categories(context: Context, record: Record) -> list[int]:
    """Return the product's categories, the main one first."""
    categories = [category for category in (_main_category(record), *numbers(record, "category_ids")) if category]
    return context.present(list(dict.fromkeys(categories)), "category", "categories")


def _main_category(record: Record) -> int | None:
    """Return the main category at the source, here or not."""
    return number(record, "main_category") or next(iter(numbers(record, "category_ids")), None)


def _images(context: Context, product: int, record: Record) -> list[Row]:
    """Return the main image (position 0) and the others, in their order; only their addresses are brought."""
    main = record.get("main_pair")
    pairs: list[tuple[int, Record]] = [(0, main)] if isinstance(main, dict) and main else []
    others = sorted(objects(record.get("image_pairs")), key=lambda pair: position(pair))
    last = 0
    for pair in others:
        last = max(position(pair), last + 1)
        pairs.append((last, pair))
    return [row for place, pair in pairs if (row := _image(context, product, place, pair)) is not None]


def _image(context: Context, product: int, place: int, pair: Record) -> Row | None:
    link = _link(context, pair)
    if link is None:
        return None
    return {"alt": "", **link, "id": as_number(pair.get("pair_id")), "product_id": product, "position": place}


def _link(context: Context, pair: object) -> Row | None:
    """Return the address, text and size of an image; None where there is none, or one that is not valid, which is noted."""
    detailed = (pair.get("detailed") or pair.get("icon")) if isinstance(pair, dict) else None
    if not isinstance(detailed, dict):
        return None
    url = next(
        (detailed[name] for name in ("image_path", "https_image_path", "http_image_path") if detailed.get(name)), ""
    )
    values = {
        "url": url,
        "alt": text(detailed, "alt"),
        "width": position(detailed, "image_x"),
        "height": position(detailed, "image_y"),
    }
    try:
        return context.columns(IMAGE_FIELDS, values, droppable=("alt",))
    except ValidationFailed as error:
        context.note(f"image: {error.message}; left out")
        return None


def _entries_of_features(record: Record) -> Iterator[tuple[int, Record]]:
    for key, entry in entries(record.get("product_features")).items():
        if isinstance(entry, dict):
            yield as_number(entry.get("feature_id", key)) or 0, entry


def feature_choices(record: Record) -> dict[int, list[int]]:
    """Return the chosen variants of each feature of which a product has a value; none where the value is a text or number."""
    choices = {}
    for feature_id, entry in _entries_of_features(record):
        type_ = text(entry, "feature_type", NUMBER_OR_VARIANT)
        chosen, value = _read_value(entry, type_)
        if type_ != GROUP and (chosen or value):
            choices[feature_id] = chosen
    return choices


def _feature_values(context: Context, product: int, record: Record) -> Rows:
    values: list[Row] = []
    choices: list[Row] = []
    for feature_id, entry in _entries_of_features(record):
        feature = context.features.get(feature_id)
        if feature is None:
            context.leave_out("feature", feature_id, "features")
            continue
        parsed = _parse_value(context, feature, entry)
        if parsed is None or parsed.is_deleted:
            continue
        variants = [variant for variant in parsed.variants if isinstance(variant, int)]
        own = {"product_id": product, "feature_id": feature.id}
        values.append(
            {
                **own,
                "variant_id": variants[0] if variants and not parsed.is_multiple else None,
                "value": parsed.value,
                "value_int": parsed.value_int,
            }
        )
        if parsed.is_multiple:
            choices += [{**own, "variant_id": variant} for variant in variants]
    return {"feature_values": values, "feature_value_variants": choices}


def _parse_value(context: Context, feature: FeatureDefinition, entry: Record) -> ParsedFeatureValue | None:
    """Parse a product's value of a feature."""
    if feature.type == GROUP:
        return None
    chosen, value = _read_value(entry, feature.type)
    given = {"variants": chosen} if chosen else {"value": value}
    try:
        parsed = parse_feature_value(feature, given, is_legacy=True)
    except InvalidValue as error:
        context.note(f"the value of feature {feature.id} {error}; left out")
        return None
    if any(isinstance(variant, str) for variant in parsed.variants):
        context.note(f"feature {feature.id} has no variant of that name; the value is left out")
        return None
    return parsed


def _read_value(entry: Record, type_: str) -> tuple[list[int], str]:
    """Return the chosen variants, and the value; CS-Cart gives numbers and dates in `value_int`."""
    variant = as_number(entry.get("variant_id"))
    chosen = [variant] if variant else _chosen(entry.get("variants"))
    value = text(entry, "value")
    if not value and type_ in _NUMBERS_OR_DATES:
        value = text(entry, "value_int")
    return chosen if type_ in TYPES_WITH_VARIANTS else [], value


def _chosen(variants: object) -> list[int]:
    """Return the chosen variants; where entries say which are `selected`, the others are not."""
    chosen = objects(variants)
    if any("selected" in variant for variant in chosen):
        chosen = [variant for variant in chosen if variant.get("selected") not in (None, "", 0, "0", False, "N")]
    return [variant_id for variant in chosen if (variant_id := as_number(variant.get("variant_id"))) is not None]


# --- Variation groups ------------------------------------------------------------------------------------------------------------

VARIATION_GROUP = ImportKind(
    "variation group",
    ImportTable(VariationGroup),
    ImportTable(VariationGroupFeature, owner="group_id"),
    ImportTable(VariationGroupProduct, owner="group_id"),
)


def convert_variation_group(context: Context, record: Record) -> Rows:
    """Convert a group of products, those that others are variations of before them."""
    group = own_number(record, "id")
    code = read_code(text(record, "code") or f"group-{group}")
    purposes = {as_number(entry.get("feature_id")): text(entry, "purpose") for entry in objects(record.get("features"))}
    members = sorted(objects(record.get("products")), key=lambda entry: number(entry, "parent_product_id") or 0)
    products = [product for entry in members if (product := number(entry, "product_id")) is not None]
    features = [feature for feature in purposes if feature is not None]
    own = {"group_id": group}
    return {
        "variation_groups": [
            {"id": group, "code": code, **context.times(moment(record, "created_at"), moment(record, "updated_at"))}
        ],
        "variation_group_features": [
            {**own, "feature_id": feature, "purpose": _purpose(purposes[feature]), "position": place}
            for place, feature in enumerate(context.present(features, "feature", "features"))
        ],
        "variation_group_products": [
            {**own, "product_id": product, "position": place}
            for place, product in enumerate(context.present(list(dict.fromkeys(products)), "product", "products"))
        ],
    }


def _purpose(purpose: str) -> str:
    return purpose if purpose in PURPOSES else PURPOSES[-1]
