"""Document the legacy routes that no `Resource` describes: sign-in, inbox, combinations of a product, boxes, quotes."""

from __future__ import annotations

from kernel.json_schema import INTEGER, STRING, array, map_of, named, object_schema, one_of
from rest_facade.legacy import value_schemas
from rest_facade.legacy.product_combinations import COMBINATIONS
from rest_facade.legacy.quotes import QUOTE_FIELDS, VENDOR_FIELDS
from rest_facade.legacy.record_schemas import input_members, record_members
from rest_facade.legacy.resource import NestedList, Resource
from rest_facade.legacy.resource_openapi import (
    PAGE_SIZE,
    PARAMS,
    create_body,
    cscart_only,
    nested_row_of,
    query_of,
    row_of,
    rows_of,
    single_of,
    update_body,
)
from rest_facade.legacy.resources.content import LANGUAGE_VARIABLES
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.features import FEATURE_VALUE_INPUT, PRODUCT_FEATURES
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.users import MEMBERSHIPS, USERS
from rest_facade.legacy.value_schemas import (
    ID,
    UNIX_TIME,
    WRITTEN_ID,
)
from rest_facade.legacy.variation_groups import VARIATION_GROUPS
from rest_facade.legacy.vendor_app.openapi import VENDOR_APP
from rest_facade.openapi import PAGE, InputRecord, OperationInput, OperationResult, RouteDocs, RouteKey, request_body


def _below(owner: Resource, resource: Resource) -> NestedList:
    """Return the list of `resource` below a record of `owner`."""
    return next(nested for nested in owner.subroutes if isinstance(nested, NestedList) and nested.resource is resource)


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of the hand-written routes."""
    return {**_SIGN_IN, **VENDOR_APP, **_COMBINATIONS, **_BOXES, **_QUOTES, **_nested_records(), **_variations()}


def _variations() -> dict[RouteKey, RouteDocs]:
    groups, variations = "/api/product_variations_groups", "/api/product_variations"
    members = f"{groups}/{{id}}/product_variations"
    product, new, changed = single_of(PRODUCTS), create_body(PRODUCTS), update_body(PRODUCTS)
    written = object_schema(group=row_of(VARIATION_GROUPS), products_status=map_of(INTEGER))
    fields = (*VARIATION_GROUPS.fields, *VARIATION_GROUPS.input_fields)
    group = OperationInput("VariationGroupCreate", "VariationGroupBody", input_members(fields, "input."))
    ids = object_schema(product_id=WRITTEN_ID)
    docs = {
        ("GET", groups): RouteDocs(
            "List variation groups", rows_of(VARIATION_GROUPS), query=query_of(VARIATION_GROUPS)
        ),
        ("GET", f"{groups}/{{id}}"): RouteDocs("Retrieve a variation group", row_of(VARIATION_GROUPS)),
        ("DELETE", f"{groups}/{{id}}"): RouteDocs("Delete a variation group", status=204),
        ("POST", groups): RouteDocs("Create a variation group", written, status=201, body=group),
        ("PUT", f"{groups}/{{id}}"): RouteDocs("Update a variation group", written, body=group),
        ("POST", f"{variations}/{{id}}/detach_product_variation"): RouteDocs(
            "Take a product out of its variation group", ids, status=201
        ),
        ("POST", f"{variations}/{{id}}/set_default_product_variation"): RouteDocs(
            "Make a product the default of its variations", ids, status=201
        ),
        ("POST", f"{variations}/{{id}}/generate_product_variations"): RouteDocs(
            "Create variations of a product",
            written,
            status=201,
            body=request_body("combinations", combinations=array(map_of(one_of(STRING, INTEGER)))),
        ),
    }
    for collection, single in ((variations, f"{variations}/{{id}}"), (members, f"{members}/{{product_id}}")):
        docs |= {
            ("GET", collection): RouteDocs("List product variations", rows_of(PRODUCTS), query=query_of(PRODUCTS)),
            ("POST", collection): RouteDocs("Create a product variation", ids, status=201, body=new),
            ("GET", single): RouteDocs("Retrieve a product variation", product),
            ("PUT", single): RouteDocs("Update a product variation", ids, body=changed),
            ("DELETE", single): RouteDocs("Delete a product variation", status=204),
        }
    return docs


_WRITTEN_VARIABLE = object_schema("langvar_id", langvar_id=WRITTEN_ID, name=STRING)


def _nested_records() -> dict[RouteKey, RouteDocs]:
    variables, variable = "/api/languages/{id}/langvars", "/api/languages/{id}/langvars/{name}"
    feature, membership = "/api/products/{id}/features/{feature_id}", "/api/users/{id}/usergroups/{group_id}"
    post = "/api/products/{id}/discussions/{post_id}"
    order = RouteDocs(
        "Place an order at a vendor", object_schema(order_id=WRITTEN_ID), status=201, body=create_body(ORDERS)
    )
    return {
        ("POST", variables): RouteDocs(
            "Create a language variable of a language",
            _WRITTEN_VARIABLE,
            status=201,
            body=create_body(LANGUAGE_VARIABLES),
        ),
        ("GET", variable): RouteDocs("Retrieve a language variable of a language", single_of(LANGUAGE_VARIABLES)),
        ("PUT", variable): RouteDocs(
            "Create or update a language variable of a language",
            _WRITTEN_VARIABLE,
            body=update_body(LANGUAGE_VARIABLES),
        ),
        ("DELETE", variable): RouteDocs("Delete a language variable of a language", status=204),
        ("POST", "/api/stores/{vendor_id}/orders"): order,
        ("POST", "/api/vendors/{vendor_id}/orders"): order,
        ("GET", "/api/categories/{id}/products/{product_id}"): RouteDocs(
            "Retrieve a product of a category", single_of(PRODUCTS)
        ),
        **dict.fromkeys(
            (("POST", f"/api/{path}/{{id}}/products") for path in ("stores", "vendors")),
            cscart_only(
                RouteDocs(
                    "Create a product of a vendor",
                    object_schema(product_id=WRITTEN_ID),
                    status=201,
                    body=create_body(PRODUCTS),
                )
            ),
        ),
        ("GET", post): RouteDocs("Retrieve a post about a product", single_of(DISCUSSIONS)),
        ("POST", "/api/products/{id}/discussions"): cscart_only(
            RouteDocs(
                "Write a post about a product",
                object_schema(post_id=WRITTEN_ID),
                status=201,
                body=create_body(DISCUSSIONS),
            )
        ),
        ("PUT", post): cscart_only(
            RouteDocs("Update a post about a product", object_schema(post_id=WRITTEN_ID), body=update_body(DISCUSSIONS))
        ),
        ("DELETE", post): cscart_only(RouteDocs("Delete a post about a product", status=204)),
        ("GET", feature): RouteDocs(
            "Retrieve a product's value of a feature", nested_row_of(_below(PRODUCTS, PRODUCT_FEATURES))
        ),
        ("PUT", feature): RouteDocs(
            "Set a product's value of a feature", object_schema(feature_id=WRITTEN_ID), body=FEATURE_VALUE_INPUT
        ),
        ("DELETE", feature): RouteDocs("Delete a product's value of a feature", status=204),
        ("GET", membership): RouteDocs("Retrieve a membership", nested_row_of(_below(USERS, MEMBERSHIPS))),
        ("DELETE", membership): RouteDocs("Give up a membership", status=204),
    }


_SIGN_IN: dict[RouteKey, RouteDocs] = {
    ("POST", "/api/auth_tokens"): RouteDocs(
        "Create a legacy API token",
        object_schema(token=STRING, ttl={"type": "integer", "description": "Lifetime in seconds."}),
        status=201,
        body=request_body("password", email=STRING, CNPJ=STRING, password=STRING, code=STRING),
            ),
    ("POST", "/api/auth"): RouteDocs(
        "Create a one-time sign-in of a user",
        object_schema(key=STRING, link=STRING),
        status=201,
        body=request_body("email", email=STRING),
            ),
    ("GET", "/api/version"): RouteDocs(
        "Retrieve the version of CS-Cart whose API this is, in its dialect", object_schema(Version=STRING)
    ),
    ("POST", "/api/vendor_login"): RouteDocs(
        "Sign in to the vendor app",
        object_schema(token=STRING, ttl=INTEGER, user_id=ID, company_id=ID, expires_at=UNIX_TIME),
        body=request_body("email", "password", email=STRING, password=STRING, code=STRING),
            ),
    ("PUT", "/api/vendor_login"): RouteDocs(
        "Request (`email`) or complete (`token`, `password`) a vendor's password reset",
        object_schema(result={"type": "string", "enum": ["sent", "changed"]}),
        body=request_body(email=STRING, token=STRING, password=STRING),
            ),
    ("POST", "/api/vendor_signup"): RouteDocs(
        "Register as a vendor",
        object_schema(company_id=WRITTEN_ID, user_id=WRITTEN_ID, status=STRING),
        status=201,
        body=request_body(
            "company", "email", "password",
            company=STRING, email=STRING, password=STRING, phone=STRING, CNPJ=STRING, firstname=STRING, lastname=STRING,
        ),
            ),
    ("GET", "/api/notifications"): RouteDocs(
        "List a user's notifications",
        object_schema(
            notifications=array(
                object_schema(
                    notification_id=STRING, user_id=STRING, type=STRING, title=STRING, message=STRING, status=STRING, timestamp=INTEGER
                )
            ),
            search=object_schema(page=INTEGER, items_per_page=INTEGER, total_items=INTEGER),
        ),
        query={"user_id": STRING, "page": PAGE, "items_per_page": PAGE_SIZE},
        required_query=("user_id",),
    ),
}  # fmt: skip


_BASE = "/api/products/{product_id}/options/combinations"
_COMBINATION = OperationResult(
    "ProductCombinationList",
    field="page",
    member="items",
    overrides=record_members(COMBINATIONS.fields),
    include=tuple(field.name for field in COMBINATIONS.fields),
    name="ProductCombination",
)
_COMBINATION_IDS = named("WrittenCombination", object_schema(combination_id=WRITTEN_ID, combination_hash=WRITTEN_ID))
_NEW_COMBINATION = InputRecord("NewProductCombination", input_members(COMBINATIONS.fields), ("combination",))
_COMBINATIONS: dict[RouteKey, RouteDocs] = {
    ("GET", _BASE): RouteDocs(
        "List the combinations of a product",
        object_schema(combinations=array(_COMBINATION), params=PARAMS),
        query=query_of(COMBINATIONS),
    ),
    ("POST", _BASE): RouteDocs(
        "Create a combination",
        _COMBINATION_IDS,
        status=201,
        body=OperationInput(
            "ProductCombinationCreate",
            _NEW_COMBINATION.name,
            input_members(COMBINATIONS.fields, "inputs."),
            _NEW_COMBINATION.required,
        ),
    ),
    ("POST", f"{_BASE}/batch"): RouteDocs(
        "Create several combinations atomically",
        object_schema(combinations=array(_COMBINATION_IDS)),
        status=201,
        body=OperationInput(
            "ProductCombinationCreate",
            "ProductCombinationBatch",
            {"combinations": ("inputs", value_schemas.rows_of(_NEW_COMBINATION))},
            ("combinations",),
        ),
    ),
    ("GET", f"{_BASE}/{{id}}"): RouteDocs("Retrieve a combination", _COMBINATION),
    ("PUT", f"{_BASE}/{{id}}"): RouteDocs(
        "Update a combination",
        _COMBINATION_IDS,
        body=OperationInput(
            "ProductCombinationUpdate", "ProductCombinationUpdateBody", input_members(COMBINATIONS.fields, "input.")
        ),
    ),
    ("DELETE", f"{_BASE}/{{id}}"): RouteDocs("Delete a combination", status=204),
}

_CENTIMETRES = {"type": "string", "pattern": "^[0-9]+\\.[0-9]$"}
_BOX = OperationResult(
    "BoxShow",
    overrides={
        **dict.fromkeys(("height", "width", "length"), _CENTIMETRES),
        **dict.fromkeys(("weight", "max_weight"), value_schemas.WEIGHT),
    },
    name="Box",
)
_DESCRIPTION = OperationResult("BoxDescriptionShow", first_item=True)
_BOXES: dict[RouteKey, RouteDocs] = {
    ("GET", "/api/productBoxes"): RouteDocs("List product boxes", object_schema(boxes=array(_BOX))),
    ("GET", "/api/productBoxes/{id}"): RouteDocs("Retrieve a product box", _BOX),
    ("GET", "/api/productBoxesDescriptions"): RouteDocs(
        "List the descriptions of product boxes", object_schema(descriptions=array(_DESCRIPTION))
    ),
    ("GET", "/api/productBoxesDescriptions/{id}"): RouteDocs(
        "Retrieve a product box's description", _DESCRIPTION, query={"lang_code": STRING}
    ),
}


_QUOTE = OperationResult(
    "DeliveryMethods", first_item=True, overrides=record_members(QUOTE_FIELDS), name="DeliveryMethod"
)
_VENDOR = OperationResult(
    "VendorAvailability", first_item=True, overrides=record_members(VENDOR_FIELDS), name="VendorAvailability"
)
_QUOTES: dict[RouteKey, RouteDocs] = {
    ("GET", "/api/delivery_methods"): RouteDocs(
        "Quote shipping of a product to a postal code",
        object_schema(
            delivery_methods=array(_QUOTE), params=object_schema(product_id=STRING, zipcode=STRING, amount=STRING)
        ),
        query={"product_id": STRING, "zipcode": STRING, "amount": STRING},
        required_query=("product_id", "zipcode"),
    ),
    ("GET", "/api/sellers_availability"): RouteDocs(
        "List the vendors of a product and whether they deliver to a postal code",
        object_schema(sellers=array(_VENDOR)),
        query={"product_id": STRING, "zipcode": STRING},
        required_query=("product_id", "zipcode"),
    ),
}
