"""Name what a store can set about itself, with the values that hold until it does.

A store's row keeps only what differs from the defaults, and every request carries that (`kernel.scope.Store.settings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.fields import Reader, flag, one_of, short_text, web_page, whole
from kernel.scope import Scope


@dataclass(frozen=True, slots=True)
class Setting:
    """Describe one setting: in which section people look for it, what it is until set, how a value is read, what it does."""

    section: str
    default: Any
    read: Reader
    description: str


STORE_SETTINGS: Mapping[str, Setting] = {
    "products_require_category": Setting(
        "catalog", False, flag, "A product needs a category (field code category_required)."
    ),
    "vendor_products_need_approval": Setting(
        "marketplace",
        False,
        flag,
        "A vendor's new product starts as P and is not sold until somebody approves it.",
    ),
    "reviews_need_approval": Setting(
        "marketplace",
        False,
        flag,
        "A shopper's review starts as P and is not shown until somebody approves it.",
    ),
    "payment_gateway": Setting(
        "payments",
        True,
        flag,
        "The payment gateway's module: notifications are listed and can be processed again.",
    ),
    "cart_days": Setting(
        "checkout",
        14,
        whole(1, 365),
        "How many days after its last change a cart that was not ordered expires.",
    ),
    "legacy_lists": Setting(
        "legacy",
        "contract",
        one_of("contract", "cscart"),
        "The form of the legacy layer's lists: the contract's, or CS-Cart's own.",
    ),
    "legacy_vendor_keys": Setting(
        "legacy",
        "N",
        one_of("Y", "N"),
        "Opens the legacy layer's entity routes to vendors, for their own records.",
    ),
    "customers_need_approval": Setting(
        "people",
        False,
        flag,
        "A shopper who registers starts as P and can't enter until somebody approves the account.",
    ),
    "account_url": Setting(
        "people",
        "",
        web_page,
        "The storefront's page that takes what mails prove: #email_verification=<token>, #password_reset=<token>.",
    ),
    "low_stock_at": Setting(
        "catalog", 5, whole(), "How many units are few: a product that comes down to so many is told of."
    ),
    "logo_url": Setting("general", "", short_text, "The address of the store's logo."),
    "support_email": Setting("general", "", short_text, "Where vendors and shoppers write to for help."),
    "support_phone": Setting("general", "", short_text, "Whom vendors and shoppers call for help."),
}


def setting(scope: Scope, name: str) -> Any:
    """Give the value a setting has in the store in scope."""
    return scope.store.settings.get(name, STORE_SETTINGS[name].default)
