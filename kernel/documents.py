"""Normalize and validate Brazilian documents and sign-in identifiers."""

from __future__ import annotations

import re
from enum import StrEnum

from validate_docbr import CNPJ, CPF

from kernel.fields import MAX_IDENTIFIER, is_email, normalize_email, short_text
from kernel.text import InvalidValue, repr_value

_PUNCTUATION = re.compile(r"[\s.\-/()\u2010-\u2015]+")
_CPF_FORM = re.compile(r"[0-9]{11}")
# Receita Federal, IN RFB 2.229/2024: twelve letters or digits, two check digits; the numeric form is a subset.
_CNPJ_FORM = re.compile(r"[0-9A-Z]{12}[0-9]{2}")
_CEP_FORM = re.compile(r"[0-9]{8}")
# NT Conjunta 2025.001: state, year and month; twelve letters or digits of the issuer's CNPJ; its check digits and the rest of the note.
_ACCESS_KEY_FORM = re.compile(r"[0-9]{6}[0-9A-Z]{12}[0-9]{26}")
CHAVE_NOTA_CHECK = "chave_nota_valid"
"""The free field of an order that says whether its access key has the right check digit; computed, never an input."""
# An area code has no zero. Mobile numbers begin with 9 and have nine digits, fixed ones have eight (Anatel). Unassigned area codes
# are accepted, so that new ones need no change here.
MIN_PHONE_DIGITS, MAX_PHONE_DIGITS = 8, 20
_PHONE_FORM = re.compile(r"[1-9]{2}(?:9[0-9]{8}|[2-9][0-9]{7})")
_COUNTRY_PREFIX = re.compile(r"\A(?:(?:\+|00)?55(?=[0-9]{10,11}\Z)|0(?=[1-9][0-9]{9,10}\Z))")
_cpf = CPF()
_cnpj = CNPJ()


class IdentifierType(StrEnum):
    """What a sign-in identifier may be."""

    EMAIL = "email"
    CPF = "cpf"
    CNPJ = "cnpj"
    PHONE = "phone"


def normalize_document(text: str) -> str:
    """Strip the punctuation of a CPF, CNPJ or CEP and uppercase it, without validating the rest; a text too long for one is unchanged."""
    if len(text) > MAX_IDENTIFIER:
        return text
    stripped = _PUNCTUATION.sub("", text)
    # Outside ASCII, upper case can produce ASCII letters (the long s becomes S) and so turn other text into a document.
    return stripped.upper() if stripped.isascii() else stripped


def is_cpf(text: str) -> bool:
    """Return whether the text, with or without punctuation, is a CPF with valid check digits; `111.111.111-11` is not."""
    document = normalize_document(text)
    # The form is checked first because validate-docbr pads a short CPF with zeros.
    return _CPF_FORM.fullmatch(document) is not None and _cpf.validate(document)


def has_cnpj_form(text: str) -> bool:
    """Return whether the text has the 14 characters of a CNPJ, whatever its check digits (docs/reference/legacy.md#values)."""
    return _CNPJ_FORM.fullmatch(normalize_document(text)) is not None


def is_cnpj(text: str) -> bool:
    """Return whether the text is a numeric or alphanumeric CNPJ with valid check digits."""
    document = normalize_document(text)
    return _CNPJ_FORM.fullmatch(document) is not None and _cnpj.validate(document)


def normalize_cep(text: str) -> str | None:
    """Return the eight digits of a CEP with or without punctuation, None for anything else."""
    cep = normalize_document(text)
    return cep if _CEP_FORM.fullmatch(cep) else None


def only_digits(text: str) -> str:
    """Return the ASCII digits of a text."""
    return "".join(character for character in text if character in "0123456789")


def normalize_phone(text: str) -> str | None:
    """Return the area code and number (10 or 11 digits) of a Brazilian phone number, None for anything else.

    Punctuation, the country code `+55` (also `0055` or bare `55`) and the trunk `0` are dropped: `+55 (11) 91234-5678` and
    `011 91234 5678` are both `11912345678`, so that a look-up matches every spelling.
    """
    if len(text) > MAX_IDENTIFIER:
        return None
    digits = _COUNTRY_PREFIX.sub("", _PUNCTUATION.sub("", text), count=1)
    return digits if _PHONE_FORM.fullmatch(digits) else None


def parse_chave_nota(value: object) -> str:
    """Parse a fiscal note's access key: 44 digits, of which the first twelve of the CNPJ may be letters; spaces are removed.

    Letters become capitals. The check digit may be wrong (docs/reference/legacy.md#extra-order-fields).
    """
    is_short_text = isinstance(value, str) and len(value) <= MAX_IDENTIFIER and value.isascii()
    key = "".join(str(value).split()) if is_short_text else ""
    key = key.upper()
    if not _ACCESS_KEY_FORM.fullmatch(key):
        raise InvalidValue(f"chave_nota is {repr_value(value)}; expected 44 digits, with letters in the CNPJ only")
    return key


def chave_nota_check_digit(first_43: str) -> int:
    """Calculate the check digit of an access key from its first 43 characters.

    NF-e manual: modulo 11, weights 2-9 from the right. NT Conjunta 2025.001: a character's value is its ASCII code less 48.
    """
    total = sum((ord(character) - 48) * (2 + position % 8) for position, character in enumerate(reversed(first_43)))
    remainder = total % 11
    return 0 if remainder < 2 else 11 - remainder


def has_valid_check_digit(chave_nota: str) -> bool:
    """Return whether the last of an access key's 44 characters is its check digit; the key comes from `parse_chave_nota`."""
    return chave_nota_check_digit(chave_nota[:-1]) == int(chave_nota[-1])


def is_chave_nota(value: object) -> bool:
    """Return whether the value is an access key with the right check digit."""
    try:
        return has_valid_check_digit(parse_chave_nota(value))
    except InvalidValue:
        return False


def cep_text(value: object) -> object:
    """Parse a postal code: a CEP as its eight digits, anything else unchanged."""
    code = str(short_text(value))
    return normalize_cep(code) or code


def classify_identifier(text: str) -> list[tuple[IdentifierType, str]]:
    """List what a sign-in identifier may be, most likely first, each normalized for the look-up; empty if nothing matches.

    Eleven digits that are a valid CPF may also be a phone number (docs/reference/current.md#sign-in). A CNPJ counts by its form,
    because the legacy API stores CNPJs with invalid check digits too. A text of more than 320 characters is nothing.
    """
    if len(text) > MAX_IDENTIFIER:
        return []
    email = normalize_email(text)
    if "@" in email:
        return [(IdentifierType.EMAIL, email)] if is_email(email) else []
    document, phone = normalize_document(text), normalize_phone(text)
    candidates = [
        (IdentifierType.CPF, document if is_cpf(document) else None),
        (IdentifierType.CNPJ, document if has_cnpj_form(document) else None),
        (IdentifierType.PHONE, phone),
    ]
    return [(type_, value) for type_, value in candidates if value is not None]
