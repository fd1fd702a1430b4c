"""List the vendor app's routes. All except the sign-in routes require a vendor's user and return that vendor's data only.

Products, orders and categories are served by the engine from their own descriptions; their resolvers restrict rows to the vendor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from resolvers.execute import FacadeOperation
from rest_facade.legacy import engine
from rest_facade.legacy.resources.categories import CATEGORIES
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.vendor_app import account, mutations, overview, product_details, sign_in
from rest_facade.routing import Credential, Handler, Route

BASE = "/api"


VENDOR_CATEGORIES = replace(CATEGORIES, open_to_vendors=True, actions=(), subroutes=())


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes; `operations` are those of the whole legacy API."""
    login, store = f"{BASE}/vendor_login", Credential.STORE
    log_in = sign_in.sign_in(operations["VendorSignIn"])
    reset = sign_in.reset_password(operations["VendorPasswordForgot"], operations["VendorPasswordReset"])
    sign_up = sign_in.sign_up(operations["VendorSignUp"])
    sign_in_routes = [
        Route("POST", login, log_in, store, attempt_limit="vendor_login"),
        Route("PUT", login, reset, store),
        Route("POST", f"{BASE}/vendor_signup", sign_up, store, creates=True),
    ]
    vendor_routes = [
        Route(method, f"{BASE}/{path}", handler, Credential.VENDOR, creates=(method, path) in _CREATES)
        for method, path, handler in _vendor_routes(operations)
    ]
    return [*sign_in_routes, *vendor_routes]


_CREATES = {("POST", "vendor_product")}


def _vendor_routes(operations: Mapping[str, FacadeOperation]) -> Iterator[tuple[str, str, Handler]]:
    yield "GET", "vendor_start", overview.start(operations["VendorStart"])
    yield "GET", "vendor_dashboard", overview.dashboard(operations["VendorDashboard"])
    yield "GET", "vendor_company", account.show_company(operations["StoreShow"])
    yield "PUT", "vendor_company", account.update_company(operations["VendorCompanyUpdate"], operations["StoreShow"])
    yield "GET", "vendor_profile", account.show_profile(operations["VendorProfile"])
    yield "PUT", "vendor_profile", account.update_profile(operations["UserUpdate"], operations["VendorProfile"])
    yield "GET", "vendor_categories", engine.list_handler(VENDOR_CATEGORIES, operations)
    yield "GET", "vendor_products", engine.list_handler(PRODUCTS, operations)
    yield "POST", "vendor_products", mutations.delete_products(operations["VendorProductsDelete"])
    yield "POST", "vendor_product", engine.create_handler(PRODUCTS, operations["ProductCreate"])
    yield "GET", "vendor_product/{id}", engine.show_handler(PRODUCTS, operations["ProductShow"])
    yield (
        "PUT",
        "vendor_product/{id}",
        engine.update_handler(
            PRODUCTS, operations["ProductUpdate"], operations["ProductShow"], operations["DefaultLanguage"]
        ),
    )
    yield "GET", "vendor_product_options", product_details.options(operations["VendorProductOptions"])
    yield ("GET", "vendor_product_attachments", product_details.attachments(operations["VendorProductAttachments"]))
    yield ("GET", "vendor_required_products", product_details.required_products(operations["VendorRequiredProducts"]))
    yield "GET", "vendor_orders", engine.list_handler(ORDERS, operations)
    yield "GET", "vendor_order/{id}", engine.show_handler(ORDERS, operations["OrderShow"])
    yield "PUT", "vendor_order/{id}", mutations.update_order(operations["VendorOrderUpdate"], operations["OrderShow"])
