"""Start-up data of the vendor app: the store, its labels, and what a vendor may do (docs/reference/legacy.md#vendor-app)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from domain import store_logo
from domain.store_settings import setting
from kernel.codes import PRODUCT_STATUSES, CodeTable
from kernel.money import CURRENCY_SYMBOLS
from kernel.scope import Scope
from models.connection.database import fetch

APP_NAME = "Vitrine Vendedor"
# The first version of the app that supports this API.
MIN_VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class LabelledCode:
    """A code and its label."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class AppMenuItem:
    """An entry of the app's menu, and the route that loads it."""

    code: str
    name: str
    route: str


@dataclass(frozen=True, slots=True)
class VendorAppConfig:
    """What the app requests when it starts."""

    app_name: str
    app_version: str
    app_min_version: str
    store_name: str
    store_currency: str
    store_logo: str
    languages: list[LabelledCode]
    currencies: list[LabelledCode]
    order_statuses: list[LabelledCode]
    product_statuses: list[LabelledCode]
    menus: list[AppMenuItem]
    permissions: list[str]
    support_email: str
    support_phone: str


_MENUS = [
    AppMenuItem("dashboard", "Painel", "vendor_dashboard"),
    AppMenuItem("orders", "Pedidos", "vendor_orders"),
    AppMenuItem("products", "Produtos", "vendor_products"),
    AppMenuItem("categories", "Categorias", "vendor_categories"),
    AppMenuItem("company", "Minha loja", "vendor_company"),
    AppMenuItem("profile", "Meu perfil", "vendor_profile"),
]
# The permissions of every vendor user; vendor users have no roles.
_PERMISSIONS = [
    "view_dashboard",
    "view_products",
    "manage_products",
    "view_orders",
    "manage_own_orders",
    "record_shipments",
    "manage_company",
    "manage_profile",
]


_LANGUAGES = """
SELECT code, name FROM languages WHERE tenant_id = $1 AND status = 'A' AND deleted_at IS NULL ORDER BY id
"""
_ORDER_STATUSES = """
SELECT letter AS code, description AS name FROM statuses WHERE tenant_id = $1 AND type = 'O' AND deleted_at IS NULL ORDER BY position, id
"""


async def load_app_config(scope: Scope) -> VendorAppConfig:
    """Load the app's start-up data from the store's settings and status labels."""
    currency = scope.store.currency
    return VendorAppConfig(
        app_name=APP_NAME,
        app_version=version("vitrine"),
        app_min_version=MIN_VERSION,
        store_name=scope.store.name,
        store_currency=currency,
        store_logo=await store_logo.load_address(scope),
        languages=await _load_labels(scope, _LANGUAGES),
        currencies=[LabelledCode(currency, CURRENCY_SYMBOLS.get(currency, currency))],
        order_statuses=await _load_labels(scope, _ORDER_STATUSES),
        product_statuses=_labels_of(PRODUCT_STATUSES),
        menus=_MENUS,
        permissions=_PERMISSIONS,
        support_email=setting(scope, "support_email"),
        support_phone=setting(scope, "support_phone"),
    )


async def _load_labels(scope: Scope, sql: str) -> list[LabelledCode]:
    """Return the codes and labels stored by the store."""
    return [LabelledCode(row["code"], row["name"]) for row in await fetch(sql, scope.store.id)]


def _labels_of(table: CodeTable) -> list[LabelledCode]:
    return [LabelledCode(code, table.name(code)) for code in table.codes]
