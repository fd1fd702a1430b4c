"""Name what a store can set about itself, with the values that hold until it does.

A store's row keeps only what differs from the defaults, and every request carries that (`kernel.scope.Store.settings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auth.secrets import decrypt, encrypt
from domain.fields import Reader, flag, one_of, short_text, text, web_page, whole
from domain.outgoing import calls
from domain.outgoing.targets import MAX_LENGTH, read_target
from kernel.scope import Scope
from kernel.text import Malformed

MASK = "****"
SANDBOX_BUREAU = "/dev/credit-bureau"
"""Where a development server answers as a credit bureau; as a setting, the one of the server itself."""
_PURPOSE = "store_setting"


@dataclass(frozen=True, slots=True)
class StoreSetting:
    """Describe one setting: in which section people look for it, what it is until set, how a value is read, what it does.

    A `secret` is kept sealed and shown masked; the mask, sent back, leaves it as it is.
    """

    section: str
    default: Any
    read: Reader
    description: str
    secret: bool = False


def _bureau_address(value: object) -> str:
    """Read the address of a credit bureau, which the checked client may call; blank for none."""
    address = str(text(MAX_LENGTH)(value)).strip()
    if address and address != SANDBOX_BUREAU:
        read_target(address, allows_private=calls.allows_private())
    return address


def _header_text(value: object) -> str:
    """Read a token that goes into a header: printable ASCII without spaces."""
    token = str(text(1_000)(value)).strip()
    if any(not "!" <= character <= "~" for character in token):
        raise Malformed("holds blanks or other letters than a token has")
    return token


STORE_SETTINGS: Mapping[str, StoreSetting] = {
    "products_require_category": StoreSetting(
        "catalog", False, flag, "A product needs a category (field code category_required)."
    ),
    "vendor_products_need_approval": StoreSetting(
        "marketplace",
        False,
        flag,
        "A vendor's new product starts as P and is not sold until somebody approves it.",
    ),
    "reviews_need_approval": StoreSetting(
        "marketplace",
        False,
        flag,
        "A shopper's review starts as P and is not shown until somebody approves it.",
    ),
    "payment_gateway": StoreSetting(
        "payments",
        True,
        flag,
        "The payment gateway's module: notifications are listed and can be processed again.",
    ),
    "cart_days": StoreSetting(
        "checkout",
        14,
        whole(1, 365),
        "How many days after its last change a cart that was not ordered expires.",
    ),
    "legacy_lists": StoreSetting(
        "legacy",
        "contract",
        one_of("contract", "cscart"),
        "The form of the legacy layer's lists: the contract's, or CS-Cart's own.",
    ),
    "legacy_vendor_keys": StoreSetting(
        "legacy",
        "N",
        one_of("Y", "N"),
        "Opens the legacy layer's entity routes to vendors, for their own records.",
    ),
    "customers_need_approval": StoreSetting(
        "people",
        False,
        flag,
        "A shopper who registers starts as P and can't enter until somebody approves the account.",
    ),
    "account_url": StoreSetting(
        "people",
        "",
        web_page,
        "The storefront's page that takes what mails prove: #email_verification=<token>, #password_reset=<token>.",
    ),
    "low_stock_at": StoreSetting(
        "catalog", 5, whole(), "How many units are few: a product that comes down to so many is told of."
    ),
    "credit_bureau_url": StoreSetting(
        "b2b",
        "",
        _bureau_address,
        f"The address of the credit bureau that is asked for scores; {SANDBOX_BUREAU} is a development server's own sandbox.",
    ),
    "credit_bureau_token": StoreSetting(
        "b2b", "", _header_text, "The token that the credit bureau knows the store by.", secret=True
    ),
    "logo_url": StoreSetting("general", "", short_text, "The address of the store's logo."),
    "support_email": StoreSetting("general", "", short_text, "Where vendors and shoppers write to for help."),
    "support_phone": StoreSetting("general", "", short_text, "Whom vendors and shoppers call for help."),
}


def setting(scope: Scope, name: str) -> Any:
    """Give the value a setting has in the store in scope."""
    return scope.store.settings.get(name, STORE_SETTINGS[name].default)


def secret_setting(scope: Scope, name: str) -> str:
    """Give a secret setting in the clear, for the one who needs it; empty when it was never set."""
    sealed: str = setting(scope, name)
    return decrypt(_PURPOSE, bytes.fromhex(sealed)).decode() if sealed else ""


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give settings that were read as they are stored: secrets sealed, and left out where the mask came back."""
    stored = dict(values)
    for name, given in values.items():
        if not STORE_SETTINGS[name].secret:
            continue
        if given == MASK:
            del stored[name]
        elif given:
            stored[name] = encrypt(_PURPOSE, str(given).encode()).hex()
    return stored


def shown_setting(scope: Scope, name: str) -> Any:
    """Give a setting as people may see it: a secret masked, when there is one."""
    known = setting(scope, name)
    return MASK if STORE_SETTINGS[name].secret and known else known
