"""List the routes of the vendor app. All but the doors need a vendor's user and show that vendor's data only.

Products, orders and categories are served by the engine from their own descriptions: which rows a vendor sees is their readers'
business, whatever route asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from resolvers.execute import FacadeOperation
from rest_facade.legacy import engine
from rest_facade.legacy.resources.categories import CATEGORIES
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.vendor_app import account, doors, overview, parts, work
from rest_facade.routing import Handler, Needs, Route

BASE = "/api"


VENDOR_CATEGORIES = replace(CATEGORIES, open_to_vendors=True, does=(), below=())


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes; `operations` are those of the whole layer."""
    of = operations
    doors_ = [
        Route(
            "POST",
            f"{BASE}/vendor_login",
            doors.sign_in(of["VendorSignIn"]),
            Needs.STORE,
            attempt="vendor_login",
        ),
        Route(
            "PUT",
            f"{BASE}/vendor_login",
            doors.new_password(of["VendorPasswordForgot"], of["VendorPasswordReset"]),
            Needs.STORE,
        ),
        Route("POST", f"{BASE}/vendor_signup", doors.sign_up(of["VendorSignUp"]), Needs.STORE, creates=True),
    ]
    inside = [
        Route(method, f"{BASE}/{path}", handler, Needs.VENDOR, creates=(method, path) in _CREATES)
        for method, path, handler in _inside(of)
    ]
    return [*doors_, *inside]


_CREATES = {("POST", "vendor_product")}


def _inside(of: Mapping[str, FacadeOperation]) -> Iterator[tuple[str, str, Handler]]:
    yield "GET", "vendor_start", overview.start(of["VendorStart"])
    yield "GET", "vendor_dashboard", overview.dashboard(of["VendorDashboard"])
    yield "GET", "vendor_company", account.show_company(of["StoreShow"])
    yield "PUT", "vendor_company", account.change_company(of["VendorCompanyUpdate"])
    yield "GET", "vendor_profile", account.show_profile(of["VendorProfile"])
    yield "PUT", "vendor_profile", account.change_profile(of["UserUpdate"])
    yield "GET", "vendor_categories", engine.list_handler(VENDOR_CATEGORIES, of["CategoryList"])
    yield "GET", "vendor_products", engine.list_handler(PRODUCTS, of["ProductList"])
    yield "POST", "vendor_products", work.delete_products(of["VendorProductsDelete"])
    yield "POST", "vendor_product", engine.create_handler(PRODUCTS, of["ProductCreate"])
    yield "GET", "vendor_product/{id}", engine.show_handler(PRODUCTS, of["ProductShow"])
    yield "PUT", "vendor_product/{id}", engine.update_handler(PRODUCTS, of["ProductUpdate"])
    yield "GET", "vendor_product_options", parts.options(of["VendorProductOptions"])
    yield "GET", "vendor_product_attachments", parts.attachments(of["VendorProductAttachments"])
    yield "GET", "vendor_required_products", parts.required_products(of["VendorRequiredProducts"])
    yield "GET", "vendor_orders", engine.list_handler(ORDERS, of["OrderList"])
    yield "GET", "vendor_order/{id}", engine.show_handler(ORDERS, of["OrderShow"])
    yield "PUT", "vendor_order/{id}", work.change_order(of["VendorOrderUpdate"])
