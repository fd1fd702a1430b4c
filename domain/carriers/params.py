"""The sources that a shipping method can have, and their parameters: checked when they are written, encrypted, shown with a mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from auth import secrets
from domain.carriers import frenet, melhor_envio
from domain.carriers.app import AppRates
from domain.carriers.source import TABLE, RateSource
from domain.outgoing import calls
from domain.store_settings import MASK
from kernel.documents import normalize_cep
from kernel.errors import ValidationFailed
from kernel.fields import FieldReader, InputField, is_email, read_with_errors, text
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value

APP, MELHOR_ENVIO, FRENET = "app", "melhor_envio", "frenet"
PURPOSE = "rate_params"
encrypt_params = partial(secrets.encrypt_params, PURPOSE)
decrypt_params = partial(secrets.decrypt_params, PURPOSE)
_MAX_SERVICES = 50


def _cep(value: object) -> object:
    cep = normalize_cep(value) if isinstance(value, str) else None
    if cep is None:
        raise InvalidValue(f"is {repr_value(value)}; expected a CEP of 8 digits")
    return cep


def _email(value: object) -> object:
    if not isinstance(value, str) or not is_email(value):
        raise InvalidValue(f"is {repr_value(value)}; expected an e-mail address")
    return value


def _token(value: object) -> object:
    token = str(text(4_096, blank=False)(value))
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidValue("has characters that a token can't have")
    return token


def _client_id(value: object) -> object:
    return text(255, blank=False)(value)


def _services(value: object) -> object:
    entries = [] if value is None else value
    if not isinstance(entries, Sequence) or isinstance(entries, str) or len(entries) > _MAX_SERVICES:
        raise InvalidValue(f"is {repr_value(value)}; expected a list of at most {_MAX_SERVICES} services")
    if not all(
        isinstance(entry, str | int) and not isinstance(entry, bool) and str(entry).strip() for entry in entries
    ):
        raise InvalidValue(f"is {repr_value(value)}; expected the codes of services")
    return [str(entry).strip() for entry in entries]


def _address(value: object) -> object:
    address = str(text(2_048)(value)).strip().rstrip("/")
    if address:
        calls.read_address(address)
    return address


def _field(name: str, read: FieldReader, *, required: bool = True) -> tuple[str, InputField]:
    return name, InputField(name, read, code="rate_params_invalid", required="required" if required else None)


_SENDER = _field("origin_zipcode", _cep)
_SERVICES = _field("services", _services, required=False)
_ADDRESS = _field("address", _address, required=False)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A source: its parameters, how it is built of them, and the currency of its prices (None: the store's)."""

    params: Mapping[str, InputField]
    build: Callable[[Scope, Mapping[str, Any]], RateSource]
    currency: str | None = "BRL"


SOURCES: Mapping[str, SourceKind] = {
    APP: SourceKind(
        dict([_field("app", _client_id), _SENDER, _SERVICES]),
        lambda scope, params: AppRates(scope, params["app"]),
        currency=None,
    ),
    MELHOR_ENVIO: SourceKind(
        dict([_field("token", _token), _SENDER, _field("contact_email", _email), _SERVICES, _ADDRESS]),
        lambda _, params: melhor_envio.MelhorEnvio(
            params["token"], params["contact_email"], params.get("address") or melhor_envio.ADDRESS
        ),
    ),
    FRENET: SourceKind(
        dict([_field("token", _token), _SENDER, _SERVICES, _ADDRESS]),
        lambda _, params: frenet.Frenet(params["token"], params.get("address") or frenet.ADDRESS),
    ),
}
"""The sources besides a method's own table, by the value of `rate_source`."""


def read_params(source: str, values: object, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters to store for a source; a masked token is the stored one of the same address.

    Raises ValidationFailed for missing and wrong ones.
    """
    given = {} if values is None else values
    if not isinstance(given, Mapping):
        raise ValidationFailed(
            f"rate_params is {repr_value(given)}; expected an object", field="rate_params", code="rate_params_invalid"
        )
    params = SOURCES[source].params if source != TABLE else {}
    unknown = sorted(set(given) - params.keys())
    if unknown:
        expected = ", ".join(params) or "none, since the method has prices of its own"
        raise ValidationFailed(
            f"rate_params has {repr_value(unknown[0])}; expected {expected}",
            field="rate_params",
            code="rate_params_invalid",
        )
    # Sent to another address, the token would be shown to a caller who may change the method.
    kept = stored if (given.get("address") or "") == stored.get("address", "") else {}
    merged = {name: kept.get(name) if value == MASK else value for name, value in given.items()}
    columns, errors = read_with_errors(params, merged, creating=True)
    if errors:
        sentence = "; ".join(f"rate_params: {message}" for _, message in errors.values())
        raise ValidationFailed(sentence, fields={f"rate_params.{name}": code for name, (code, _) in errors.items()})
    return columns


def mask_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters to show, without the token."""
    return {**params, "token": MASK} if "token" in params else dict(params)
