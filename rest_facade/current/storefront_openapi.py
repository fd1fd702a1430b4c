"""Describe the routes of headless storefronts for readers."""

from __future__ import annotations

from rest_facade.current.storefront import CATEGORIES, PREFIX, PRODUCTS, SEARCH
from rest_facade.openapi import TEXT, WHOLE, Key, OperationResult, RouteDocs, array, given, record
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


def told() -> dict[Key, RouteDocs]:
    """Give the description of every route of the storefront."""
    return {("GET", f"{PREFIX}/{path}"): said for path, said in _CATALOGUE.items()} | _CARTS


_PRODUCT_PAGE = OperationResult("StorefrontProducts")
_CATALOGUE: dict[str, RouteDocs] = {
    "store": RouteDocs("Show the store", OperationResult("StorefrontStore")),
    "products": RouteDocs("List active products", _PRODUCT_PAGE, query=listing_query(PRODUCTS.listing)),
    "products/{id}": RouteDocs(
        "Show one active product by id or slug", OperationResult("StorefrontProduct", first=True)
    ),
    "categories": RouteDocs(
        "List active categories",
        OperationResult("StorefrontCategories"),
        query=listing_query(CATEGORIES.listing),
    ),
    "categories/{id}": RouteDocs(
        "Show one active category", OperationResult("StorefrontCategory", first=True)
    ),
    "categories/{id}/products": RouteDocs(
        "List the active products of a category", _PRODUCT_PAGE, query=listing_query(PRODUCTS.listing)
    ),
    "search": RouteDocs(
        "Search active products", _PRODUCT_PAGE, query=listing_query(SEARCH), required_query=("q",)
    ),
    "payment-methods": RouteDocs(
        "List the ways to pay", record(payment_methods=OperationResult("StorefrontPaymentMethods"))
    ),
}
_CARTS: dict[Key, RouteDocs] = {
    ("POST", f"{PREFIX}/carts"): RouteDocs(
        "Open a cart",
        OperationResult("StorefrontCartCreate"),
        status=201,
        body=given(items=array(_ITEM), customer_email=TEXT),
    ),
    ("GET", _CART): RouteDocs("Show a cart as it comes to now", OperationResult("StorefrontCart")),
    ("POST", f"{_CART}/items"): RouteDocs(
        "Put units of a product into a cart", OperationResult("StorefrontCartItemAdd"), status=201, body=_ITEM
    ),
    ("PATCH", f"{_CART}/items/{{item_id}}"): RouteDocs(
        "Change how many units an item has",
        OperationResult("StorefrontCartItemUpdate"),
        body=given("quantity", quantity=WHOLE),
    ),
    ("DELETE", f"{_CART}/items/{{item_id}}"): RouteDocs(
        "Take an item out of a cart", OperationResult("StorefrontCartItemRemove")
    ),
    ("PUT", f"{_CART}/address"): RouteDocs(
        "Say where a cart goes", OperationResult("StorefrontCartSetAddress"), body=_ADDRESS
    ),
    ("GET", f"{_CART}/shipping-options"): RouteDocs(
        "List the ways in which a cart can travel",
        record(shipping_options=OperationResult("StorefrontShippingOptions")),
    ),
    ("PUT", f"{_CART}/shipping-option"): RouteDocs(
        "Choose how a cart travels",
        OperationResult("StorefrontCartSetShippingOption"),
        body=given("shipping_id", shipping_id=TEXT),
    ),
    ("POST", f"{_CART}/coupon"): RouteDocs(
        "Apply a coupon; an empty code takes it off",
        OperationResult("StorefrontCartApplyCoupon"),
        body=given("code", code={"type": ["string", "null"]}),
    ),
    ("POST", f"{_CART}/checkout"): RouteDocs(
        "Make an order of a cart; the answer holds its token",
        {"allOf": [OperationResult("StorefrontCartCheckout", inside="order"), record(token=TEXT)]},
        status=201,
        body=_CHECKOUT,
    ),
    ("GET", f"{PREFIX}/orders/{{id}}"): RouteDocs(
        "Show an order to who holds its token", OperationResult("StorefrontOrder"), query={"token": TEXT}
    ),
}
