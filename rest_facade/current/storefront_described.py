"""Describe the routes of headless storefronts for readers."""

from __future__ import annotations

from rest_facade.current.storefront import CATEGORIES, PREFIX, PRODUCTS, SEARCH
from rest_facade.described import TEXT, WHOLE, Answer, Key, Told, array, given, record
from rest_facade.shop_described import listing_query

_CART = f"{PREFIX}/carts/{{id}}"
_ITEM = given(
    "product_id",
    "quantity",
    product_id=TEXT,
    quantity={"type": "integer", "minimum": 1},
    options={"type": "object", "description": "Option id → variant id."},
)
_ADDRESS = given(
    **dict.fromkeys(
        (
            "name", "street", "number", "complement", "district",
            "city", "state", "zipcode", "country", "phone",
        ),
        TEXT,
    )
)  # fmt: skip
_CHECKOUT = given(
    "payment_id",
    customer_id=TEXT,
    customer_email={"type": "string", "format": "email"},
    customer_name=TEXT,
    payment_id=TEXT,
    notes=TEXT,
)


def told() -> dict[Key, Told]:
    """Give the description of every route of the storefront."""
    return {("GET", f"{PREFIX}/{path}"): said for path, said in _CATALOGUE.items()} | _CARTS


_PRODUCT_PAGE = Answer("StorefrontProducts")
_CATALOGUE: dict[str, Told] = {
    "store": Told("Show the store", Answer("StorefrontStore")),
    "products": Told("List active products", _PRODUCT_PAGE, query=listing_query(PRODUCTS.listing)),
    "products/{id}": Told("Show one active product by id or slug", Answer("StorefrontProduct", first=True)),
    "categories": Told(
        "List active categories", Answer("StorefrontCategories"), query=listing_query(CATEGORIES.listing)
    ),
    "categories/{id}": Told("Show one active category", Answer("StorefrontCategory", first=True)),
    "categories/{id}/products": Told(
        "List the active products of a category", _PRODUCT_PAGE, query=listing_query(PRODUCTS.listing)
    ),
    "search": Told(
        "Search active products", _PRODUCT_PAGE, query=listing_query(SEARCH), required_query=("q",)
    ),
    "payment-methods": Told(
        "List the ways to pay", record(payment_methods=Answer("StorefrontPaymentMethods"))
    ),
}
_CARTS: dict[Key, Told] = {
    ("POST", f"{PREFIX}/carts"): Told(
        "Open a cart",
        Answer("StorefrontCartCreate"),
        status=201,
        body=given(items=array(_ITEM), customer_email=TEXT),
    ),
    ("GET", _CART): Told("Show a cart as it comes to now", Answer("StorefrontCart")),
    ("POST", f"{_CART}/items"): Told(
        "Put units of a product into a cart", Answer("StorefrontCartItemAdd"), status=201, body=_ITEM
    ),
    ("PATCH", f"{_CART}/items/{{item_id}}"): Told(
        "Change how many units an item has",
        Answer("StorefrontCartItemUpdate"),
        body=given("quantity", quantity=WHOLE),
    ),
    ("DELETE", f"{_CART}/items/{{item_id}}"): Told(
        "Take an item out of a cart", Answer("StorefrontCartItemRemove")
    ),
    ("PUT", f"{_CART}/address"): Told(
        "Say where a cart goes", Answer("StorefrontCartSetAddress"), body=_ADDRESS
    ),
    ("GET", f"{_CART}/shipping-options"): Told(
        "List the ways in which a cart can travel",
        record(shipping_options=Answer("StorefrontShippingOptions")),
    ),
    ("PUT", f"{_CART}/shipping-option"): Told(
        "Choose how a cart travels",
        Answer("StorefrontCartSetShippingOption"),
        body=given("shipping_id", shipping_id=TEXT),
    ),
    ("POST", f"{_CART}/coupon"): Told(
        "Apply a coupon; an empty code takes it off",
        Answer("StorefrontCartApplyCoupon"),
        body=given("code", code={"type": ["string", "null"]}),
    ),
    ("POST", f"{_CART}/checkout"): Told(
        "Make an order of a cart; the answer holds its token",
        {"allOf": [Answer("StorefrontCartCheckout", inside="order"), record(token=TEXT)]},
        status=201,
        body=_CHECKOUT,
    ),
    ("GET", f"{PREFIX}/orders/{{id}}"): Told(
        "Show an order to who holds its token", Answer("StorefrontOrder"), query={"token": TEXT}
    ),
}
