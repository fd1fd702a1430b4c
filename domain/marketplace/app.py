"""Tell a vendor's app what it needs to begin: which store this is, its words, and what the vendor may do there."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from domain.store_settings import setting
from kernel.codes import PRODUCT_STATUSES, CodeTable
from kernel.scope import Scope
from models.database import rows

APP_NAME = "Vitrine Vendedor"
# The first version of the app that speaks this interface.
MIN_VERSION = "1.0.0"

_SYMBOLS = {"BRL": "R$", "USD": "US$", "EUR": "€"}


@dataclass(frozen=True, slots=True)
class LabelledCode:
    """A code and what people call it."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Menu:
    """An entry of the app's menu, and the route that fills it."""

    code: str
    name: str
    route: str


@dataclass(frozen=True, slots=True)
class Beginning:
    """Hold all that the app asks for when it starts."""

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
    menus: list[Menu]
    permissions: list[str]
    support_email: str
    support_phone: str


_MENUS = [
    Menu("dashboard", "Painel", "vendor_dashboard"),
    Menu("orders", "Pedidos", "vendor_orders"),
    Menu("products", "Produtos", "vendor_products"),
    Menu("categories", "Categorias", "vendor_categories"),
    Menu("company", "Minha loja", "vendor_company"),
    Menu("profile", "Meu perfil", "vendor_profile"),
]
# What every vendor may do (decisions-legacy section 4); there are no ranks among a vendor's users.
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


async def begin(scope: Scope) -> Beginning:
    """Gather what the app needs, from the store's settings and the words for statuses."""
    currency = scope.store.currency
    return Beginning(
        app_name=APP_NAME,
        app_version=version("vitrine"),
        app_min_version=MIN_VERSION,
        store_name=scope.store.name,
        store_currency=currency,
        store_logo=setting(scope, "logo_url"),
        languages=await _chosen(scope, _LANGUAGES),
        currencies=[LabelledCode(currency, _SYMBOLS.get(currency, currency))],
        order_statuses=await _chosen(scope, _ORDER_STATUSES),
        product_statuses=_choices(PRODUCT_STATUSES),
        menus=_MENUS,
        permissions=_PERMISSIONS,
        support_email=setting(scope, "support_email"),
        support_phone=setting(scope, "support_phone"),
    )


async def _chosen(scope: Scope, sql: str) -> list[LabelledCode]:
    """Give codes and names as the store keeps them."""
    return [LabelledCode(found["code"], found["name"]) for found in await rows(sql, scope.store.id)]


def _choices(table: CodeTable) -> list[LabelledCode]:
    return [LabelledCode(letter, table.name(letter)) for letter in table.codes]
