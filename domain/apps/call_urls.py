"""Validate the addresses at which an app answers calls, one for each kind (docs/reference/apps.md#calls-to-apps)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from domain.app_calls.call_types import KINDS
from domain.outgoing import calls
from kernel.fields import InputField, read_fields
from kernel.text import InvalidValue, repr_value


def _url(value: object) -> str | None:
    return None if value is None else calls.read_address(value)


_FIELDS: Mapping[str, InputField] = {name: InputField(name, _url, "url_invalid") for name in KINDS}


def parse_call_url_changes(values: Mapping[str, Any]) -> dict[str, str | None]:
    """Parse addresses by kind, None for one to remove; raise `ValidationFailed` naming the wrong ones."""
    return read_fields(_FIELDS, values)


def _call_urls(value: object) -> dict[str, str]:
    """Parse the addresses of a new app; raise `InvalidValue`."""
    if not isinstance(value, Mapping):
        raise InvalidValue(f"is {repr_value(value)}; expected an address for each kind of call")
    urls = {}
    for name, url in value.items():
        if name not in KINDS:
            raise InvalidValue(f"names {repr_value(name)}; expected any of {', '.join(KINDS)}")
        try:
            parsed = _url(url)
        except InvalidValue as error:
            raise InvalidValue(f"of {name} {error}") from error
        if parsed is not None:
            urls[name] = parsed
    return urls


CALL_URLS_FIELD = InputField("call_urls", _call_urls, "url_invalid")


def call_urls_by_kind(stored: str) -> dict[str, str | None]:
    """Return the address of every kind of a stored JSON object, None for those without one."""
    urls = orjson.loads(stored)
    return {name: urls.get(name) for name in KINDS}


def host_of(url: str | None) -> str | None:
    """Return the host of an address for the audit log: its path or query may contain a secret."""
    return None if url is None else urlsplit(url).hostname
