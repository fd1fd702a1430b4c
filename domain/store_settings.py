"""Declare the settings of a store and their defaults.

A store's row stores only what differs from the defaults; every request carries it (`kernel.scope.Store.settings`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from auth.privileges import ALL, check_may_grant_privileges
from auth.secrets import decrypt, encrypt
from domain.outgoing import calls
from domain.outgoing.targets import MAX_LENGTH
from kernel.fields import FieldReader, flag, http_url, integer, one_of, short_text, text, web_page
from kernel.installments import parse_rules
from kernel.product_fields import image_url
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value

MASK = "****"
TIME_ZONE = "America/Sao_Paulo"
"""The time zone of a store that has set none."""
SPLIT_STORE = "store"
"""The store alone bears it, in place of every recipient of a divided payment for its share."""
_BEARERS = (SPLIT_STORE, "recipients")
SANDBOX_BUREAU = "/dev/credit-bureau"
"""Path of a development server's credit bureau sandbox; as a setting value, the sandbox of this server itself."""
PURPOSE = "store_setting"


@dataclass(frozen=True, slots=True)
class StoreSetting:
    """A setting: its section, default, reader and description.

    A `secret` is stored encrypted and returned masked; the mask, sent back, leaves it unchanged. `stored_as` is the name under which the
    value is stored, if another: two settings with the same one are two names of one setting. `privileges` are needed to change it, all of
    them besides `manage_settings`.
    """

    section: str
    default: Any
    read: FieldReader
    description: str
    secret: bool = False
    stored_as: str = ""
    privileges: Collection[str] = ()


def _bureau_address(value: object) -> str:
    """Read the URL of a credit bureau, validated against SSRF; blank for none."""
    address = str(text(MAX_LENGTH)(value)).strip()
    if address and address != SANDBOX_BUREAU:
        calls.read_address(address)
    return address


def _account_page(value: object) -> str:
    """Read the page that gets tokens from mails; `http`, which anybody on the way can read, only where private endpoints are allowed."""
    page = web_page(value)
    if page.startswith("http:") and not calls.allows_private():
        raise InvalidValue(f"is {repr_value(value)}; expected an https address without a fragment")
    return page


def _logo_url(value: object) -> object:
    """Read the URL of a picture, or its path at the store's own address; `update_settings` refuses new paths."""
    is_path = isinstance(value, str) and value.startswith("/")
    return image_url(short_text(value)) if is_path else http_url(255)(value)


def _header_text(value: object) -> str:
    """Read a token for an HTTP header: printable ASCII without spaces."""
    token = str(text(1_000)(value)).strip()
    if any(not "!" <= character <= "~" for character in token):
        raise InvalidValue("holds blanks or other letters than a token has")
    return token


def _time_zone(value: object) -> str:
    """Read the IANA name of a time zone."""
    name = str(short_text(value))
    try:
        return ZoneInfo(name).key
    except (ValueError, OSError, KeyError) as error:
        raise InvalidValue(
            f"is {repr_value(value)}; expected the IANA name of a time zone, such as {TIME_ZONE}"
        ) from error


def _installments(value: object) -> str:
    """Read the instalments that cards are offered."""
    rules = str(text(1_000)(value)).strip()
    parse_rules(rules)
    return rules


def _tracking_page(value: object) -> str:
    """Read the address of tracking pages, which contains `{code}`; blank for none."""
    page = str(text(MAX_LENGTH)(value)).strip()
    if page and "{code}" not in page:
        raise InvalidValue(f"is {repr_value(value)}; expected an address with {{code}} where the tracking code belongs")
    web_page(page.replace("{code}", "0"))
    return page


# Who chooses the page that gets the tokens of a mail can use them: of an account, also the owner's, or of an order.
_OF_ACCOUNTS, _OF_ORDERS = ALL, ("manage_orders",)
# Where money goes.
_OF_PAYMENTS = ("manage_payments",)

_MAILS = {
    "order_placed": "was placed, with its lines, totals, address and how to pay",
    "order_paid": "is paid",
    "order_shipped": "is shipped, in whole or in part, with carrier and tracking code",
    "order_complete": "is complete without a shipment in the same change",
    "order_cancelled": "is cancelled",
    "order_refunded": "is refunded, in whole or in part",
    "order_payment_failed": "is declined or failed, or its payment expires",
    "order_payment_pending": "waits for a payment by Pix or boleto that was created here, with its code or line",
    "order_status": "gets another status with params.notify",
}

SOCIAL_NETWORKS = {
    "instagram": "Instagram",
    "facebook": "Facebook",
    "youtube": "YouTube",
    "tiktok": "TikTok",
    "pinterest": "Pinterest",
    "linkedin": "LinkedIn",
    "x": "X",
    "whatsapp": "WhatsApp",
}
"""The networks at which a store may have a page, in the order in which storefronts get them."""

STORE_SETTINGS: Mapping[str, StoreSetting] = {
    "order_mails": StoreSetting(
        "mails", True, flag, "Customers get mails about their orders; off where another system sends them."
    ),
    **{
        f"mail_{name}": StoreSetting("mails", True, flag, f"The customer gets a mail when an order {description}.")
        for name, description in _MAILS.items()
    },
    "order_url": StoreSetting(
        "mails",
        "",
        _account_page,
        "The storefront page that shows an order: mails link to it with #id=<id>&token=<token>.",
        privileges=_OF_ORDERS,
    ),
    "tracking_url": StoreSetting(
        "mails",
        "",
        _tracking_page,
        "The tracking page that mails link to, with {code} for the tracking code; blank: that of Correios for its codes.",
    ),
    "products_require_category": StoreSetting(
        "catalog", False, flag, "A product needs a category (field code category_required)."
    ),
    "vendor_products_need_approval": StoreSetting(
        "marketplace", False, flag, "A vendor's new product starts as P and is not sold until it is approved."
    ),
    "reviews_need_approval": StoreSetting(
        "marketplace", False, flag, "A customer's review starts as P and is not shown until it is approved."
    ),
    "payout_days": StoreSetting(
        "marketplace",
        7,
        integer(0, 365),
        "How many days after its payment a vendor's share of an order can be paid out.",
    ),
    "payout_minimum_cents": StoreSetting(
        "marketplace",
        0,
        integer(0, 1_000_000_000),
        "The smallest amount that payouts to all vendors pay to one, in cents.",
    ),
    "payment_gateway": StoreSetting(
        "payments", True, flag, "The payment gateway's module: notifications are listed and can be reprocessed."
    ),
    "pix_minutes": StoreSetting(
        "payments",
        30,
        integer(5, 1_440),
        "For how many minutes a Pix code can be paid, at most as long as the order waits.",
    ),
    "boleto_days": StoreSetting("payments", 3, integer(1, 60), "After how many days a boleto is due."),
    "installments": StoreSetting(
        "payments",
        "",
        _installments,
        "The instalments that cards are offered, with the interest a month and the amount from which: 2-3:0, 4-12:1.99:200; blank for one.",
    ),
    "statement_descriptor": StoreSetting(
        "payments", "", text(13), "What the statement of a customer's card says of a payment; blank: the store's name."
    ),
    "split_recipient_id": StoreSetting(
        "payments",
        "",
        text(100),
        "The store's own recipient at a gateway that divides payments (rp_…); blank: payments aren't divided.",
        privileges=_OF_PAYMENTS,
    ),
    "split_liable": StoreSetting(
        "payments",
        SPLIT_STORE,
        one_of(*_BEARERS),
        "Who bears the chargebacks of divided payments: the store, or all recipients, each for its share.",
        privileges=_OF_PAYMENTS,
    ),
    "split_fees": StoreSetting(
        "payments",
        SPLIT_STORE,
        one_of(*_BEARERS),
        "Who pays the gateway's fees of divided payments: the store, or all recipients.",
        privileges=_OF_PAYMENTS,
    ),
    "catalogue_max_age": StoreSetting(
        "catalog",
        0,
        integer(0, 86_400),
        "For how many seconds caches may keep an answer of the catalogue without asking again; 0: they ask each time.",
    ),
    "image_copies": StoreSetting(
        "catalog",
        False,
        flag,
        "Linked images are fetched once and shown from the store's own files; off: an image is shown with the URL that was sent.",
    ),
    "cart_days": StoreSetting(
        "checkout", 14, integer(1, 365), "How many days after its last change a cart that was not ordered expires."
    ),
    "cart_abandoned_hours": StoreSetting(
        "checkout",
        24,
        integer(1, 720),
        "How many hours after its last change a cart with items counts as abandoned (event cart.abandoned).",
    ),
    "event_days": StoreSetting(
        "apps",
        30,
        integer(1, 365),
        "For how many days events stay in the event feed, and can be sent again to webhook endpoints.",
    ),
    "point_value_cents": StoreSetting(
        "checkout",
        1,
        integer(0, 1_000_000),
        "What a reward point is worth when it is spent, in cents; 0: points can't be spent.",
    ),
    "legacy_dialect": StoreSetting(
        "legacy",
        "contract",
        one_of("contract", "cscart"),
        "The dialect of the legacy API: the documented one (contract), or what programs written for CS-Cart expect.",
        # The setting's name before; the previous version of the program reads it.
        stored_as="legacy_lists",
    ),
    # The other name of legacy_dialect.
    "legacy_lists": StoreSetting(
        "legacy",
        "contract",
        one_of("contract", "cscart"),
        "The format of the legacy API's lists: the documented one (contract), or CS-Cart's own.",
    ),
    "legacy_vendor_keys": StoreSetting(
        "legacy", "N", one_of("Y", "N"), "Allows vendors to use the legacy API's entity routes for their own records."
    ),
    "browser_idle_minutes": StoreSetting(
        "people",
        480,
        integer(5, 43_200),
        "After how many minutes without use the back office signs its user out.",
    ),
    "customers_need_approval": StoreSetting(
        "people", False, flag, "A customer who registers starts as P and can't sign in until the account is approved."
    ),
    "account_url": StoreSetting(
        "people",
        "",
        _account_page,
        "The storefront page that accepts tokens: #email_verification=<token>, #email_change=<token>, #password_reset=<token>,"
        " #account_deletion=<token>, #sign_in=<key>.",
        privileges=_OF_ACCOUNTS,
    ),
    "best_seller_days": StoreSetting(
        "catalog", 30, integer(1, 365), "Products are sorted as best selling by the units sold in so many days."
    ),
    "low_stock_at": StoreSetting(
        "catalog", 5, integer(), "Low stock threshold: a notification is sent when a product's stock falls to it."
    ),
    "credit_bureau_url": StoreSetting(
        "b2b",
        "",
        _bureau_address,
        f"The URL of the credit bureau that scores are requested from; {SANDBOX_BUREAU} is a development server's own sandbox.",
    ),
    "credit_bureau_token": StoreSetting(
        "b2b", "", _header_text, "The token that authenticates the store at the credit bureau.", secret=True
    ),
    "time_zone": StoreSetting(
        "general",
        TIME_ZONE,
        _time_zone,
        "The time zone in which the back office shows times and sums sales: an IANA name.",
    ),
    "logo_url": StoreSetting("general", "", _logo_url, "The URL of the store's logo."),
    "support_email": StoreSetting("general", "", short_text, "The support e-mail address for vendors and customers."),
    "support_phone": StoreSetting("general", "", short_text, "The support phone number for vendors and customers."),
    "contact_address": StoreSetting(
        "general", "", short_text, "The postal address that storefronts show, on one line."
    ),
    **{
        f"social_{name}": StoreSetting("general", "", http_url(255), f"The URL of the store's page at {title}.")
        for name, title in SOCIAL_NETWORKS.items()
    },
}


def setting(scope: Scope, name: str) -> Any:
    """Return the value of a setting in the current store."""
    declaration = STORE_SETTINGS[name]
    return scope.store.settings.get(declaration.stored_as or name, declaration.default)


def check_may_change(scope: Scope, names: Iterable[str]) -> None:
    """Raise `InsufficientPrivileges`, naming the first that the caller lacks, for settings that it may not change."""
    check_may_grant_privileges(scope, {each for name in names for each in STORE_SETTINGS[name].privileges})


def sends_order_mail(scope: Scope, name: str) -> bool:
    """Return whether the store sends its customers the mail of this name about their orders."""
    return bool(setting(scope, "order_mails") and setting(scope, f"mail_{name}"))


def secret_setting(scope: Scope, name: str) -> str:
    """Return a secret setting decrypted; empty if it was never set."""
    return _decrypted(setting(scope, name))


def _decrypted(sealed: str) -> str:
    return decrypt(PURPOSE, bytes.fromhex(sealed)).decode() if sealed else ""


def stored_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return validated settings by the names under which they are stored."""
    return {STORE_SETTINGS[name].stored_as or name: value for name, value in values.items()}


def encrypt_secrets(values: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
    """Return validated settings as they are stored: secrets encrypted, and omitted where the mask was sent.

    A secret equal to the `current` one stays as that is stored, since it would be encrypted to another value.
    """
    stored = dict(values)
    for name, setting_value in values.items():
        if not STORE_SETTINGS[name].secret:
            continue
        if setting_value == MASK:
            del stored[name]
        elif setting_value and setting_value == _decrypted(current.get(name, "")):
            stored[name] = current[name]
        elif setting_value:
            stored[name] = encrypt(PURPOSE, str(setting_value).encode()).hex()
    return stored


def clear_unconfirmed_secrets(stored: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new settings, clearing the bureau's token if its URL changes without one: else its new server would be sent it."""
    name = "credit_bureau_url"
    if name not in new or new[name] == stored.get(name, STORE_SETTINGS[name].default):
        return dict(new)
    return {"credit_bureau_token": "", **new}


def masked_setting(scope: Scope, name: str) -> Any:
    """Return a setting with a secret masked, if there is one."""
    current = setting(scope, name)
    return MASK if STORE_SETTINGS[name].secret and current else current
