"""Normalise and check Brazilian documents and the identifiers that people sign in with."""

from __future__ import annotations

import re
from enum import StrEnum

from validate_docbr import CNPJ, CPF

from kernel.text import Malformed as Malformed
from kernel.text import has_forbidden_characters, nfc, shown

MAX_EMAIL_BYTES = 254  # RFC 5321, errata 1690

_PUNCTUATION = re.compile(r"[\s.\-/()\u2010-\u2015]+")
_CPF_FORM = re.compile(r"[0-9]{11}")
# Receita Federal, IN RFB 2.229/2024: twelve letters or digits, two check digits; the numeric form is a case of it.
_CNPJ_FORM = re.compile(r"[0-9A-Z]{12}[0-9]{2}")
_CEP_FORM = re.compile(r"[0-9]{8}")
_ACCESS_KEY_FORM = re.compile(r"[0-9]{44}")
# An area code has no zero. Mobile numbers begin with 9 and have nine digits, fixed ones have eight (Anatel). New area codes
# need no change here, at the price of accepting some that don't exist.
_PHONE_FORM = re.compile(r"[1-9]{2}(?:9[0-9]{8}|[2-9][0-9]{7})")
_COUNTRY_PREFIX = re.compile(r"\A(?:(?:\+|00)?55(?=[0-9]{10,11}\Z)|0(?=[1-9][0-9]{9,10}\Z))")
_LABEL_REST = r"(?:(?:[^\W_]|-){0,61}[^\W_])"
_EMAIL = re.compile(
    r"(?P<local>[^\s@\"<>(),:;\\\[\]\x00-\x1f\x7f]{1,64})"
    rf"@(?:[^\W_]{_LABEL_REST}?\.)+[^\W\d_]{_LABEL_REST}"
)

_cpf = CPF()
_cnpj = CNPJ()


class DocumentType(StrEnum):
    """Name what an identifier may be."""

    EMAIL = "email"
    CPF = "cpf"
    CNPJ = "cnpj"
    PHONE = "phone"


def normalise_document(text: str) -> str:
    """Strip the punctuation of a CPF, CNPJ or CEP and raise its letters, without judging the rest."""
    stripped = _PUNCTUATION.sub("", text)
    # Outside ASCII, raising a letter can make a plain one (the long s becomes S), and so a document of what is none.
    return stripped.upper() if stripped.isascii() else stripped


def is_cpf(text: str) -> bool:
    """Tell whether the text, with or without punctuation, is a CPF with right check digits; `111.111.111-11` is not."""
    document = normalise_document(text)
    # The form is checked first because validate-docbr fills a short CPF up with zeros.
    return _CPF_FORM.fullmatch(document) is not None and _cpf.validate(document)


def has_cnpj_form(text: str) -> bool:
    """Tell whether the text has the 14 characters of a CNPJ, whatever its check digits (decisions-legacy section 3)."""
    return _CNPJ_FORM.fullmatch(normalise_document(text)) is not None


def is_cnpj(text: str) -> bool:
    """Tell whether the text is a numeric or alphanumeric CNPJ with right check digits."""
    document = normalise_document(text)
    return _CNPJ_FORM.fullmatch(document) is not None and _cnpj.validate(document)


def normalise_cep(text: str) -> str | None:
    """Give the eight digits of a CEP written with or without punctuation, None for anything else."""
    cep = normalise_document(text)
    return cep if _CEP_FORM.fullmatch(cep) else None


def normalise_phone(text: str) -> str | None:
    """Give the area code and number (10 or 11 digits) of a Brazilian telephone, None for anything else.

    Punctuation, the country's `+55` (also `0055` or bare `55`) and the trunk `0` are dropped: `+55 (11) 91234-5678` and
    `011 91234 5678` are both `11912345678`, so that however it was stored it is found.
    """
    digits = _COUNTRY_PREFIX.sub("", _PUNCTUATION.sub("", text), count=1)
    return digits if _PHONE_FORM.fullmatch(digits) else None


def chave_nota_from(value: object) -> str:
    """Read the access key of a fiscal note: exactly 44 digits after spaces are removed, else Malformed.

    The check digit is not enforced here; `has_valid_check_digit` tells about it (decisions-legacy section 3).
    """
    key = "".join(value.split()) if isinstance(value, str) else ""
    if not _ACCESS_KEY_FORM.fullmatch(key):
        raise Malformed(f"chave_nota is {shown(value)}; expected 44 digits")
    return key


def chave_nota_check_digit(first_43: str) -> int:
    """Compute the check digit of an access key from its first 43 digits (NF-e manual: modulo 11, weights 2-9 from the right)."""
    total = sum(int(digit) * (2 + place % 8) for place, digit in enumerate(reversed(first_43)))
    remainder = total % 11
    return 0 if remainder < 2 else 11 - remainder


def has_valid_check_digit(chave_nota: str) -> bool:
    """Tell whether the last of the 44 digits of an access key is right; the key comes from `chave_nota_from`."""
    return chave_nota_check_digit(chave_nota[:-1]) == int(chave_nota[-1])


def normalise_email(text: str) -> str:
    """Give the form in which an e-mail is stored and compared: stripped, lower-case, NFC."""
    return nfc(nfc(text).strip().lower())


def is_email(text: str) -> bool:
    """Tell whether mail could be sent there: one `@`, a domain with a dot, at most 254 bytes (pragmatic, not RFC 5322)."""
    if has_forbidden_characters(text) or len(text.encode()) > MAX_EMAIL_BYTES:
        return False
    found = _EMAIL.fullmatch(text)
    return found is not None and not _has_stray_dot(found["local"])


def classify_identifier(text: str) -> list[tuple[DocumentType, str]]:
    """List what a sign-in identifier may be, most likely first, each normalised for the look-up; empty when nothing.

    Eleven digits that are a valid CPF are one first and a telephone second (decisions section 3). A CNPJ counts by its form,
    because the legacy layer stores those with wrong check digits too.
    """
    email = normalise_email(text)
    if "@" in email:
        return [(DocumentType.EMAIL, email)] if is_email(email) else []
    document, phone = normalise_document(text), normalise_phone(text)
    candidates = [
        (DocumentType.CPF, document if is_cpf(document) else None),
        (DocumentType.CNPJ, document if has_cnpj_form(document) else None),
        (DocumentType.PHONE, phone),
    ]
    return [(kind, value) for kind, value in candidates if value is not None]


def _has_stray_dot(local: str) -> bool:
    return local.startswith(".") or local.endswith(".") or ".." in local
