"""Document the routes of headless storefronts."""

from __future__ import annotations

from dataclasses import replace

from rest_facade.collection_openapi import list_query
from rest_facade.current.storefront import CATEGORIES, PREFIX, PRODUCTS, SEARCH
from rest_facade.current.storefront_search import CHOICE_SCHEMAS
from rest_facade.openapi import (
    INTEGER,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    array,
    described,
    map_of,
    named,
    object_schema,
    request_body,
)

_CART = f"{PREFIX}/carts/{{id}}"
_ITEM = named(
    "NewCartItem",
    request_body(
        "product_id",
        "quantity",
        product_id=STRING,
        quantity={"type": "integer", "minimum": 1},
        options=described(
            map_of({"type": ["string", "integer"]}), "Variant id, text or id of an uploaded file by option id."
        ),
    ),
)
_ADDRESS = named("CartAddressChanges", request_body(
    **dict.fromkeys(
        (
            "name", "street", "number", "complement", "district",
            "city", "state", "zipcode", "country", "phone",
        ),
        STRING,
    )
))  # fmt: skip
_CHECKOUT = named(
    "Checkout",
    request_body(
        "payment_id",
        customer_id=STRING,
        customer_email={"type": "string", "format": "email"},
        customer_name=STRING,
        payment_id=STRING,
        notes=STRING,
    ),
)


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of every storefront route."""
    catalog = {
        ("GET", f"{PREFIX}/{path}"): replace(docs, other_responses={304: None}) for path, docs in _CATALOG.items()
    }
    return catalog | _CARTS


_PRODUCT_PAGE = OperationResult("StorefrontProducts", name="StorefrontProductPage")
_CATALOG: dict[str, RouteDocs] = {
    "store": RouteDocs("Retrieve the store", OperationResult("StorefrontStore")),
    "products": RouteDocs("List active products", _PRODUCT_PAGE, query=list_query(PRODUCTS.list_definition)),
    "products/{id}": RouteDocs(
        "Retrieve an active product by id or slug", OperationResult("StorefrontProduct", first_item=True)
    ),
    "categories": RouteDocs(
        "List active categories",
        OperationResult("StorefrontCategories", name="StorefrontCategoryPage"),
        query=list_query(CATEGORIES.list_definition),
    ),
    "categories/{id}": RouteDocs(
        "Retrieve an active category by id or slug", OperationResult("StorefrontCategory", first_item=True)
    ),
    "categories/{id}/products": RouteDocs(
        "List the active products of a category, by its id or slug",
        _PRODUCT_PAGE,
        query=list_query(PRODUCTS.list_definition),
    ),
    "search": RouteDocs(
        "Search active products, with facets",
        OperationResult("StorefrontSearch"),
        query={**list_query(SEARCH), **CHOICE_SCHEMAS},
    ),
    "payment-methods": RouteDocs(
        "List payment methods", object_schema(payment_methods=OperationResult("StorefrontPaymentMethods"))
    ),
}
_CARTS: dict[RouteKey, RouteDocs] = {
    ("POST", f"{PREFIX}/carts"): RouteDocs(
        "Create a cart",
        OperationResult("StorefrontCartCreate"),
        status=201,
        body=request_body(items=array(_ITEM), customer_email=STRING),
    ),
    ("GET", _CART): RouteDocs("Retrieve a cart with current totals", OperationResult("StorefrontCart")),
    ("POST", f"{_CART}/files"): RouteDocs(
        "Upload a file for an option of the type `F`; its `id` is then a value of the option",
        OperationResult("StorefrontCartFileUpload"),
        status=201,
        upload=named(
            "CartFileForm",
            request_body(
                "option_id",
                "file",
                option_id=STRING,
                file=described({"type": "string", "format": "binary"}, "The file, at most 20 MiB."),
            ),
        ),
    ),
    ("DELETE", f"{_CART}/files/{{file_id}}"): RouteDocs(
        "Delete a file that no item of the cart names", status=204, operation="StorefrontCartFileDelete"
    ),
    ("POST", f"{_CART}/file-uploads"): RouteDocs(
        "Begin the upload of a file for an option of the type `F`, by one PUT to the `url` of the answer",
        OperationResult("StorefrontCartFileUploadCreate"),
        status=201,
        body=request_body(
            "option_id",
            "file_name",
            "mime_type",
            "bytes",
            option_id=STRING,
            file_name=STRING,
            mime_type=STRING,
            bytes=INTEGER,
        ),
    ),
    ("POST", f"{_CART}/file-uploads/{{file_id}}"): RouteDocs(
        "Complete an upload; the `id` of the answer is then a value of the option",
        OperationResult("StorefrontCartFileUploadComplete"),
    ),
    ("POST", f"{_CART}/items"): RouteDocs(
        "Add a product to a cart", OperationResult("StorefrontCartItemAdd"), status=201, body=_ITEM
    ),
    ("PATCH", f"{_CART}/items/{{item_id}}"): RouteDocs(
        "Update an item's quantity",
        OperationResult("StorefrontCartItemUpdate"),
        body=request_body("quantity", quantity=INTEGER),
    ),
    ("DELETE", f"{_CART}/items/{{item_id}}"): RouteDocs(
        "Remove an item from a cart", OperationResult("StorefrontCartItemRemove")
    ),
    ("PUT", f"{_CART}/address"): RouteDocs(
        "Set a cart's shipping address", OperationResult("StorefrontCartSetAddress"), body=_ADDRESS
    ),
    ("GET", f"{_CART}/shipping-options"): RouteDocs(
        "List a cart's shipping options", object_schema(shipping_options=OperationResult("StorefrontShippingOptions"))
    ),
    ("PUT", f"{_CART}/shipping-option"): RouteDocs(
        "Select a cart's shipping option",
        OperationResult("StorefrontCartSetShippingOption"),
        body=request_body("shipping_id", shipping_id=STRING),
    ),
    ("POST", f"{_CART}/coupon"): RouteDocs(
        "Apply a coupon to a cart; an empty code removes it",
        OperationResult("StorefrontCartApplyCoupon"),
        body=request_body("code", code={"type": ["string", "null"]}),
    ),
    ("POST", f"{_CART}/points"): RouteDocs(
        "Set how many reward points a cart spends; 0 for none",
        OperationResult("StorefrontCartSetPoints"),
        body=request_body("points_to_use", points_to_use={"type": "integer", "minimum": 0}),
    ),
    ("POST", f"{_CART}/checkout"): RouteDocs(
        "Check out a cart: create an order and return it with its token",
        {
            "allOf": [
                OperationResult("StorefrontCartCheckout", member="order", name="PlacedOrder"),
                object_schema(token=STRING),
            ]
        },
        status=201,
        body=_CHECKOUT,
    ),
    ("GET", f"{PREFIX}/orders/{{id}}"): RouteDocs(
        "Retrieve an order by its token", OperationResult("StorefrontOrder"), query={"token": STRING}
    ),
}
