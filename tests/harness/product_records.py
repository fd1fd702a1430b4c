"""The product fields that every interface shares: a new product's values, and the values an input accepts and rejects."""

from __future__ import annotations

from typing import Any

from kernel import product_fields
from models.tables.catalog import Product

_SET_ON_CREATION = {"id", "name", "slug", "price_cents", "created_at", "updated_at"}
_COLUMNS = Product.column_defaults()

PRODUCT_RECORD = {field.name for field in product_fields.PRODUCT_RECORD}
# What a client reads of a product created with a name and a price only.
DEFAULTS: dict[str, Any] = {
    **{name: _COLUMNS.get(name) for name in sorted(PRODUCT_RECORD - _SET_ON_CREATION)},
    "currency": "BRL",
    "stock": 0,
    "images": [],
}

# Values of a field, and what is read back.
ACCEPTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "Boné"}, {"name": "Boné"}),
    ({"sku": "X-9"}, {"sku": "X-9"}),
    ({"slug": "Um Boné!"}, {"slug": "um-bone"}),
    ({"description": "nova"}, {"description": "nova"}),
    ({"description": None}, {"description": ""}),
    ({"short_description": "curta"}, {"short_description": "curta"}),
    ({"status": "D"}, {"status": "D"}),
    ({"status": "hidden"}, {"status": "H"}),
    ({"status": "a"}, {"status": "A"}),
    ({"price_cents": 1}, {"price_cents": 1}),
    ({"price_cents": 100.0}, {"price_cents": 100}),
    ({"compare_at_cents": 9}, {"compare_at_cents": 9}),
    ({"compare_at_cents": None}, {"compare_at_cents": None}),
    ({"stock": 3}, {"stock": 3}),
    ({"weight_grams": 350}, {"weight_grams": 350}),
    ({"length_mm": 200, "width_mm": 150, "height_mm": 95}, {"length_mm": 200, "width_mm": 150, "height_mm": 95}),
    ({"gtin": "789-1000 31550 7"}, {"gtin": "7891000315507"}),
    ({"gtin": "96385074"}, {"gtin": "96385074"}),
    ({"gtin": "036000291452"}, {"gtin": "036000291452"}),
    ({"gtin": "17891000315504"}, {"gtin": "17891000315504"}),
    ({"gtin": None}, {"gtin": ""}),
    ({"shipping_freight_cents": 250}, {"shipping_freight_cents": 250}),
]

# Values of a field, and the field's error code.
REJECTED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"name": None}, {"name": "name_required"}),
    ({"name": ""}, {"name": "name_required"}),
    ({"name": " \t"}, {"name": "name_required"}),
    ({"name": 5}, {"name": "name_invalid"}),
    ({"name": ["x"]}, {"name": "name_invalid"}),
    ({"name": "x" * 256}, {"name": "name_invalid"}),
    ({"price_cents": -1}, {"price_cents": "price_invalid"}),
    ({"price_cents": "4990"}, {"price_cents": "price_invalid"}),
    ({"price_cents": "x"}, {"price_cents": "price_invalid"}),
    ({"price_cents": 49.9}, {"price_cents": "price_invalid"}),
    ({"price_cents": True}, {"price_cents": "price_invalid"}),
    ({"price_cents": []}, {"price_cents": "price_invalid"}),
    ({"price_cents": {}}, {"price_cents": "price_invalid"}),
    ({"price_cents": 10**15 + 1}, {"price_cents": "price_invalid"}),
    ({"price_cents": 2**63 - 1}, {"price_cents": "price_invalid"}),
    ({"compare_at_cents": -5}, {"compare_at_cents": "price_invalid"}),
    ({"compare_at_cents": "9"}, {"compare_at_cents": "price_invalid"}),
    ({"status": "Z"}, {"status": "status_invalid"}),
    ({"status": "sold"}, {"status": "status_invalid"}),
    ({"status": 1}, {"status": "status_invalid"}),
    ({"status": None}, {"status": "status_invalid"}),
    ({"status": ""}, {"status": "status_invalid"}),
    ({"sku": 7}, {"sku": "sku_invalid"}),
    ({"sku": "x" * 256}, {"sku": "sku_invalid"}),
    ({"slug": []}, {"slug": "slug_invalid"}),
    ({"description": 1}, {"description": "invalid"}),
    ({"short_description": {}}, {"short_description": "invalid"}),
    ({"stock": -1}, {"stock": "stock_invalid"}),
    ({"stock": "1"}, {"stock": "stock_invalid"}),
    ({"stock": 10**13}, {"stock": "stock_invalid"}),
    ({"weight_grams": -1}, {"weight_grams": "weight_invalid"}),
    ({"length_mm": -1}, {"length_mm": "size_invalid"}),
    ({"width_mm": "10"}, {"width_mm": "size_invalid"}),
    ({"height_mm": 10**13}, {"height_mm": "size_invalid"}),
    ({"gtin": "7891000315508"}, {"gtin": "gtin_invalid"}),
    ({"gtin": "789100031550"}, {"gtin": "gtin_invalid"}),
    ({"gtin": "7891000315"}, {"gtin": "gtin_invalid"}),
    ({"gtin": "ABCDEFGH"}, {"gtin": "gtin_invalid"}),
    ({"gtin": 96385074}, {"gtin": "gtin_invalid"}),
    ({"shipping_freight_cents": -1}, {"shipping_freight_cents": "price_invalid"}),
    ({"shipping_freight_cents": "2.50"}, {"shipping_freight_cents": "price_invalid"}),
]
