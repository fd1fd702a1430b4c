"""The postal addresses of customers: one rule for those of carts and saved ones (docs/reference/current.md#carts)."""

from __future__ import annotations

from collections.abc import Mapping

from domain.orders.draft import cep_text
from kernel.documents import normalize_cep
from kernel.errors import ValidationFailed
from kernel.fields import InputField, short_text
from kernel.geography import BRAZIL
from kernel.text import InvalidValue, repr_value


def _country(value: object) -> object:
    country = str(short_text(value)).strip().upper()
    if country and not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise InvalidValue(f"is {repr_value(value)}; expected a country's code of two letters")
    return country or BRAZIL


ADDRESS: Mapping[str, InputField] = {
    **{
        name: InputField(name, short_text)
        for name in ("name", "street", "number", "complement", "district", "city", "state", "phone")
    },
    "zipcode": InputField("zipcode", cep_text, code="zipcode_invalid", required="required"),
    "country": InputField("country", _country, code="country_invalid"),
}


def check_zipcode(country: str, zipcode: str) -> None:
    """Raise `ValidationFailed` for an address in Brazil whose postal code is no CEP."""
    if country == BRAZIL and normalize_cep(zipcode) is None:
        raise ValidationFailed(
            f"zipcode is {repr_value(zipcode)}; expected a CEP of eight digits",
            field="zipcode",
            code="zipcode_invalid",
        )
