"""Declare the fields of a product once: the input fields, and the record in REST responses and events.

Derived from these tables: validation, GraphQL's `ProductInput`, the fragment `ProductRecord`, bodies and error codes of the REST families,
and the data of `product.*` events with its documentation. The writing SQL is derived from the columns of `models.tables.catalog.Product`.
See docs/recipes.md#add-a-product-field.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from kernel.codes import PRODUCT_STATUSES
from kernel.fields import (
    MAX_NAME,
    MAX_QUANTITY,
    FieldErrors,
    InputField,
    cents,
    code_in,
    flag,
    integer,
    name_text,
    one_of,
    optional_timestamp,
    short_text,
    text,
)
from kernel.payload_fields import INTEGER, OBJECTS, TEXT, TIME, UUID_TEXT, PayloadField
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value, slugify

_MAX_URL = 2_048
_MAX_KEYWORDS = 2_048
# A path is at the store's own address: `//host` and `/\host`, which browsers read alike, are another host without a scheme.
_IMAGE_URL = re.compile(r"https?://[^\s/?#]|/(?![/\\])")
_PATH = re.compile(r"[a-z0-9]+([-_./][a-z0-9]+)*")
# Of the columns; those that are made of names are shorter.
_MAX_SLUG = 255
_GTIN = re.compile(r"[0-9]{8}|[0-9]{12,14}")
_NCM = re.compile(r"[0-9]{8}")
_EXPECTED_URL = "expected an http or https address"


def trimmed(value: object) -> object:
    """Read a short text without surrounding whitespace."""
    return str(short_text(value)).strip()


def gtin(value: object) -> object:
    """Read a GTIN of 8, 12, 13 or 14 digits with its check digit, spaces and hyphens removed; empty for none."""
    digits = re.sub(r"[\s-]", "", str(short_text(value)))
    if digits and not (_GTIN.fullmatch(digits) and has_gtin_check_digit(digits)):
        raise InvalidValue(
            f"is {repr_value(value)}; expected a GTIN of 8, 12, 13 or 14 digits, the last one its check digit"
        )
    return digits


def ncm(value: object) -> object:
    """Read a code of the Nomenclatura Comum do Mercosul, eight digits, dots removed; empty for none."""
    digits = str(trimmed(value)).replace(".", "")
    if digits and not _NCM.fullmatch(digits):
        raise InvalidValue(f"is {repr_value(value)}; expected an NCM of eight digits")
    return digits


def has_gtin_check_digit(digits: str) -> bool:
    """Return whether the digits, weighted 1, 3, 1, 3, … from the right, add up to a multiple of 10 (GS1 General Specifications, 7.9)."""
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(digits))) % 10 == 0


def slug_text(value: object) -> object:
    """Read a slug; empty if nothing of the text can be part of a URL. What is a path already, such as `moda/pants_28.html`, stays."""
    slug = str(text()(value))
    return slug if len(slug) <= _MAX_SLUG and _PATH.fullmatch(slug) else slugify(slug)


def image_url(value: object) -> object:
    """Read the URL of an image: only http, https and paths of the store, because browsers load it; `path_errors` refuses new paths."""
    url = str(text(_MAX_URL, blank=False)(value))
    if not _IMAGE_URL.match(url):
        raise InvalidValue(f"is {repr_value(url)}; {_EXPECTED_URL}")
    return url


def path_errors(
    scope: Scope, field: str, url: str, stored: Container[str | None] = (), *, code: str = "url_invalid"
) -> FieldErrors:
    """Return the error of an image URL that is a path, which a record may only keep: this server reads no files for its clients."""
    if not url.startswith("/") or url in stored:
        return {}
    name = field.rpartition(".")[2]
    expected = f"{_EXPECTED_URL}, or the file as image_data" if scope.family == "legacy" else _EXPECTED_URL
    return {field: (code, f"{name} is {repr_value(url)}; {expected}")}


# The texts for search engines of every record that has a page: products, categories, vendors, content pages.
SEO_FIELDS: Mapping[str, InputField] = {
    "page_title": InputField("page_title", short_text),
    "meta_keywords": InputField("meta_keywords", text(_MAX_KEYWORDS)),
    "meta_description": InputField("meta_description", text()),
}
PRODUCT_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "sku": InputField("sku", trimmed, code="sku_invalid"),
    "slug": InputField("slug", slug_text, code="slug_invalid"),
    "description": InputField("description", text()),
    "short_description": InputField("short_description", text()),
    "status": InputField("status", code_in(PRODUCT_STATUSES), code="status_invalid"),
    "price_cents": InputField("price_cents", cents(), code="price_invalid", required="required"),
    "compare_at_cents": InputField("compare_at_cents", cents(nullable=True), code="price_invalid"),
    # Available stock; stored as this plus the units reserved by open orders (docs/reference/shared.md#stock).
    "stock": InputField("stock", integer(0, MAX_QUANTITY), code="stock_invalid"),
    "tracking": InputField("tracking", one_of("B", "D"), code="tracking_invalid"),
    "weight_grams": InputField("weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
    # The size of a packed unit; 0 for an unknown one (domain/carriers/parcels.py).
    "length_mm": InputField("length_mm", integer(0, MAX_QUANTITY), code="size_invalid"),
    "width_mm": InputField("width_mm", integer(0, MAX_QUANTITY), code="size_invalid"),
    "height_mm": InputField("height_mm", integer(0, MAX_QUANTITY), code="size_invalid"),
    "box_min_quantity": InputField("box_min_quantity", integer(), code="quantity_invalid"),
    "box_max_quantity": InputField("box_max_quantity", integer(), code="quantity_invalid"),
    "gtin": InputField("gtin", gtin, code="gtin_invalid"),
    "shipping_freight_cents": InputField("shipping_freight_cents", cents(), code="price_invalid"),
    "is_edp": InputField("is_edp", flag),
    "free_shipping": InputField("free_shipping", flag),
    "min_quantity": InputField("min_quantity", integer(), code="quantity_invalid"),
    "max_quantity": InputField("max_quantity", integer(), code="quantity_invalid"),
    "quantity_step": InputField("quantity_step", integer(), code="quantity_invalid"),
    "quantity_choices": InputField("quantity_choices", integer(), code="quantity_invalid"),
    "low_stock_limit": InputField("low_stock_limit", integer(), code="quantity_invalid"),
    "available_since": InputField("available_since", optional_timestamp),
    "out_of_stock_action": InputField("out_of_stock_action", one_of("N", "B", "S")),
    "zero_price_action": InputField("zero_price_action", one_of("R", "P", "A")),
    "unlimited_download": InputField("unlimited_download", flag),
    "promo_text": InputField("promo_text", text()),
    "exception_type": InputField("exception_type", one_of("F", "A")),
    "option_order": InputField("option_order", one_of("P", "S")),
    "details_layout": InputField("details_layout", short_text),
    "search_words": InputField("search_words", text(_MAX_KEYWORDS)),
    "ncm": InputField("ncm", ncm, code="ncm_invalid"),
    **SEO_FIELDS,
}

IMAGE_FIELDS: Mapping[str, InputField] = {
    "url": InputField("url", image_url, code="url_invalid", required="required"),
    "alt": InputField("alt", text(MAX_NAME)),
    "width": InputField("width", integer()),
    "height": InputField("height", integer()),
}

# docs/reference/shared.md#records
PRODUCT_RECORD = (
    PayloadField("id", UUID_TEXT, "The product."),
    PayloadField("name", TEXT, "Its name."),
    PayloadField("sku", TEXT, "The SKU."),
    PayloadField("slug", TEXT, "The part of the URL that identifies it."),
    PayloadField("description", TEXT, "HTML, unmodified."),
    PayloadField("short_description", TEXT, "A short description, HTML."),
    PayloadField("status", TEXT, "The status code."),
    PayloadField("price_cents", INTEGER, "The price, in cents."),
    PayloadField("compare_at_cents", f"{INTEGER} or null", "The compare-at price, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("stock", INTEGER, "The available stock."),
    PayloadField("weight_grams", INTEGER, "The weight of a unit, in grams."),
    PayloadField("length_mm", INTEGER, "The length of a packed unit, in millimetres; 0 if unknown."),
    PayloadField("width_mm", INTEGER, "Its width, in millimetres; 0 if unknown."),
    PayloadField("height_mm", INTEGER, "Its height, in millimetres; 0 if unknown."),
    PayloadField("gtin", TEXT, "The GTIN (EAN, UPC); empty if it has none."),
    PayloadField("shipping_freight_cents", INTEGER, "What each unit adds to the price of shipping, in cents."),
    PayloadField("category_id", f"{UUID_TEXT} or null", "The main category."),
    PayloadField(
        "category",
        "object or null",
        "The main category with its name.",
        (PayloadField("id", UUID_TEXT, "The category."), PayloadField("name", TEXT, "Its name.")),
    ),
    PayloadField(
        "images",
        OBJECTS,
        "The images, the main one first.",
        (PayloadField("url", TEXT, "The image's URL."), PayloadField("alt", TEXT, "The alternative text.")),
    ),
    PayloadField("created_at", TIME, "When it was created."),
    PayloadField("updated_at", TIME, "When it was last changed."),
)
