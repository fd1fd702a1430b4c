"""The postal addresses of customers: one rule for those of carts and saved ones (docs/reference/current.md#carts)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from domain.purchase.draft import phone_errors, state_errors
from kernel.documents import MIN_PHONE_DIGITS, cep_text, normalize_cep
from kernel.fields import InputField, raise_field_errors, short_text
from kernel.geography import BRAZIL, COUNTRIES
from kernel.text import InvalidValue, repr_value


def country_code(value: object) -> str:
    """Parse a country's code of two letters, in either case."""
    country = str(short_text(value)).strip().upper()
    if not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise InvalidValue(f"is {repr_value(value)}; expected a country's code of two letters")
    return country


def country_or_brazil(value: object) -> str:
    """Parse a country's code; blank means Brazil."""
    return country_code(value) if str(short_text(value)).strip() else BRAZIL


ADDRESS: Mapping[str, InputField] = {
    **{
        name: InputField(name, short_text)
        for name in ("name", "street", "number", "complement", "district", "city", "state", "phone")
    },
    "zipcode": InputField("zipcode", cep_text, code="zipcode_invalid", required="required"),
    "country": InputField("country", country_or_brazil, code="country_invalid"),
}
DELIVERED = ("name", "city")
"""What an address needs to be delivered to, besides its postal code, which suffices for a quote: it may be missing, and not blank."""


def check_address(address: Mapping[str, str], before: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise `ValidationFailed` for a blank name or city, no country or phone, in Brazil a postal code that is no CEP or no known state.

    Other than the postal code, what an address has from `before` stays until it is changed.
    """
    errors = {name: ("required", f"{name} is required") for name in DELIVERED if not address.get(name, "-").strip()}
    errors |= _country_errors(address) | state_errors(address) | phone_errors(address, least_digits=MIN_PHONE_DIGITS)
    errors = {name: error for name, error in errors.items() if address[name] != before.get(name)}
    if address["country"] == BRAZIL and normalize_cep(address["zipcode"]) is None:
        text = f"zipcode is {repr_value(address['zipcode'])}; expected a CEP of eight digits"
        errors["zipcode"] = ("zipcode_invalid", text)
    raise_field_errors(errors)


def _country_errors(address: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    country = address["country"]
    if country in COUNTRIES:
        return {}
    text = f"country is {repr_value(country)}; expected the code of a country such as BR"
    return {"country": ("country_invalid", text)}
