"""The postal addresses of customers: one rule for those of carts and saved ones (docs/reference/current.md#carts)."""

from __future__ import annotations

from collections.abc import Mapping

from domain.orders.draft import cep_text
from kernel.documents import normalize_cep
from kernel.errors import ValidationFailed
from kernel.fields import InputField, short_text
from kernel.geography import BRAZIL
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


def check_zipcode(country: str, zipcode: str) -> None:
    """Raise `ValidationFailed` for an address in Brazil whose postal code is no CEP."""
    if country == BRAZIL and normalize_cep(zipcode) is None:
        raise ValidationFailed(
            f"zipcode is {repr_value(zipcode)}; expected a CEP of eight digits", field="zipcode", code="zipcode_invalid"
        )
