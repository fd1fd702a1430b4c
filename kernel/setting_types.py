"""Parsers for the text of settings, with which `kernel/settings.py` declares them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import SplitResult, parse_qs, parse_qsl, unquote, urlsplit
from uuid import UUID

from kernel.ids import parse_uuid
from kernel.ip_addresses import IPNetwork, parse_network
from kernel.retention import PERIODS

T = TypeVar("T")

MIN_SECRET_LENGTH = 32


class InvalidSetting(ValueError):
    """State what was expected; `Settings.from_environment` adds the setting's name and value."""


@dataclass(frozen=True)
class SettingType(Generic[T]):
    """A parser of a setting's text and the name of its type for the documentation."""

    name: str
    parse: Callable[[str], T]


def one_of(*words: str) -> SettingType[str]:
    """Accept one of the words, in any case."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise InvalidSetting(" or ".join(words))
        return text.lower()

    return SettingType("word", parse)


def integer_between(minimum: int, maximum: int = 2**31 - 1) -> SettingType[int]:
    """Accept an integer in ASCII digits within the bounds, both included."""

    def parse(text: str) -> int:
        # isascii: int() accepts digits of every script.
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and minimum <= int(text) <= maximum):
            raise InvalidSetting(f"a whole number from {minimum} to {maximum}")
        return int(text)

    return SettingType("integer", parse)


def seconds(minimum: float, maximum: float) -> SettingType[float]:
    """Accept a number of seconds within the bounds, both included."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not minimum <= value <= maximum:  # also rejects NaN
            raise InvalidSetting(f"seconds from {minimum:g} to {maximum:g}")
        return value

    return SettingType("seconds", parse)


def _boolean(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise InvalidSetting("1 or 0")
    return words[text.lower()]


def url_of(*schemes: str) -> SettingType[str]:
    """Accept a URL with one of the schemes; the rest is left to the client that connects."""

    expected = f"an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}"

    def parse(text: str) -> str:
        try:
            parts = urlsplit(text)
            _ = parts.port
        except ValueError as error:
            raise InvalidSetting(expected) from error
        if parts.scheme not in schemes or text.partition("://")[2] == "":
            raise InvalidSetting(expected)
        if not has_hosts(parts):
            raise InvalidSetting("an address with a host name of labels of at most 63 characters")
        return text

    return SettingType("URL", parse)


def has_hosts(url: SplitResult) -> bool:
    """Return whether the hosts of a URL, in its query too as PostgreSQL's, can be looked up: Python fails unexpectedly for others."""
    hosts = [unquote(url.hostname or ""), *parse_qs(url.query).get("host", ())]
    try:
        return all("\0" not in host and (host.startswith("/") or host.encode("idna") is not None) for host in hosts)
    except UnicodeError:
        return False


def urls_of(*schemes: str) -> SettingType[tuple[str, ...]]:
    """Accept URLs with one of the schemes, separated by commas."""
    parse = url_of(*schemes).parse
    return SettingType("URLs", lambda text: tuple(parse(item) for item in _items(text)))


def _redis_url(text: str) -> str:
    url = url_of("redis", "rediss", "unix").parse(text)
    parts = urlsplit(url)
    # The client takes the database 0 in place of a name.
    if parts.scheme != "unix" and not (parts.path.strip("/") or "0").isdecimal():
        raise InvalidSetting("redis://host:6379/0 with the number of a database")
    return url


def _smtp_url(text: str) -> str:
    url = url_of("smtp", "smtps").parse(text)
    options = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    if any(name != "from" or "@" not in value for name, value in options):
        raise InvalidSetting("smtp://user:password@host:587?from=shop@example.com, without other options")
    return url


def _http_url(text: str) -> str:
    url = url_of("http", "https").parse(text)
    parts = urlsplit(url)
    if not parts.hostname or parts.query or parts.fragment or parts.username is not None or len(url.split()) > 1:
        raise InvalidSetting("an http or https address without query, fragment or log-in")
    return url.rstrip("/")


def _zipcode_url(text: str) -> str:
    if text.count("{zipcode}") != 1 or "{" in text.replace("{zipcode}", ""):
        raise InvalidSetting("an address with {zipcode} where the postal code belongs")
    return url_of("http", "https").parse(text)


_STORAGE_OPTIONS: dict[str, frozenset[str]] = {
    "file": frozenset(),
    "s3": frozenset({"endpoint", "region", "path_style"}),
    "gs": frozenset(),
    "az": frozenset({"account", "endpoint"}),
}


def _storage_url(text: str) -> str:
    url = url_of(*_STORAGE_OPTIONS).parse(text)
    parts = urlsplit(url)
    options = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    # A folder has no host, a bucket is the host.
    is_placed = parts.path.startswith("/") and not parts.netloc if parts.scheme == "file" else bool(parts.netloc)
    if not is_placed or "@" in parts.netloc or options - _STORAGE_OPTIONS[parts.scheme]:
        raise InvalidSetting(
            "file:///folder, s3://bucket/prefix?endpoint=…&region=…&path_style=0, gs://bucket/prefix "
            "or az://container/prefix?account=…"
        )
    return url


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _networks(text: str) -> tuple[IPNetwork, ...]:
    networks = [parse_network(item) for item in _items(text)]
    if not networks or None in networks:
        raise InvalidSetting("addresses or networks such as 10.0.0.0/8, separated by commas")
    return tuple(network for network in networks if network is not None)


def _hosts(text: str) -> tuple[str, ...]:
    hosts = [item.lower() for item in _items(text)]
    if not hosts or any(set(host) & set("/@ ?#*") or (":" in host and not host.startswith("[")) for host in hosts):
        raise InvalidSetting("host names without port, separated by commas ([::1] for an IPv6 address)")
    return tuple(hosts)


def _bind(text: str) -> tuple[str, ...]:
    addresses = [item.removeprefix("[").removesuffix("]") for item in _items(text)]
    if not addresses or any(set(address) & set("/@ ?#[]") for address in addresses):
        raise InvalidSetting("addresses to listen on, without port, separated by commas")
    return tuple(addresses)


def _bind_one(text: str) -> str:
    addresses = _bind(text)
    if len(addresses) != 1:
        raise InvalidSetting("one address to listen on, without port")
    return addresses[0]


def _origins(text: str) -> tuple[str, ...]:
    expected = "* or origins such as https://shop.example, separated by commas"
    origins = _items(text)
    for origin in origins:
        try:
            parts = urlsplit(origin)
            _ = parts.port
        except ValueError as error:
            raise InvalidSetting(expected) from error
        is_origin = (
            parts.scheme in ("http", "https") and parts.hostname and origin == f"{parts.scheme}://{parts.netloc}"
        )
        if origin != "*" and (not is_origin or "@" in origin):
            raise InvalidSetting(expected)
    if not origins:
        raise InvalidSetting(expected)
    return tuple(origins)


def _store_id(text: str) -> UUID:
    store = parse_uuid(text)
    if store is None:
        raise InvalidSetting("a store's UUID")
    return store


def _secret(text: str) -> str:
    if len(text) < MIN_SECRET_LENGTH:
        raise InvalidSetting(f"at least {MIN_SECRET_LENGTH} characters, such as `openssl rand -base64 48` prints")
    return text


def _secrets(text: str) -> tuple[str, ...]:
    secrets = _json_texts(text) if text.startswith('["') else _items(text)
    if not secrets or any(len(secret) < MIN_SECRET_LENGTH for secret in secrets):
        raise InvalidSetting(
            f"keys of at least {MIN_SECRET_LENGTH} characters, separated by commas (as a JSON array if one contains a comma)"
        )
    return tuple(secrets)


def _retention(text: str) -> tuple[tuple[str, int], ...]:
    days: dict[str, int] = {}
    for item in _items(text):
        name, _, value = (part.strip() for part in item.partition("="))
        period = PERIODS.get(name)
        if period is None:
            raise InvalidSetting(
                f"periods such as audit_log=1825, separated by commas; the names are {', '.join(PERIODS)}"
            )
        if not (
            value.isascii()
            and value.isdigit()
            and len(value) <= 5
            and (int(value) == 0 or int(value) >= period.minimum)
        ):
            raise InvalidSetting(f"{name} in days from {period.minimum} to 99999, or 0 for ever")
        days[name] = int(value)
    return tuple(days.items())


def _json_texts(text: str) -> list[str]:
    try:
        items = json.loads(text)
    except ValueError:
        return []
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []


BOOLEAN: SettingType[bool] = SettingType("1 or 0", _boolean)
SECRET: SettingType[str] = SettingType("text", _secret)
SECRETS: SettingType[tuple[str, ...]] = SettingType("texts", _secrets)
STORE_ID: SettingType[UUID] = SettingType("UUID", _store_id)
DIRECTORY: SettingType[Path] = SettingType("directory", Path)
HTTP_URL: SettingType[str] = SettingType("URL", _http_url)
REDIS_URL: SettingType[str] = SettingType("URL", _redis_url)
SMTP_URL: SettingType[str] = SettingType("URL", _smtp_url)
STORAGE_URL: SettingType[str] = SettingType("URL", _storage_url)
NETWORKS: SettingType[tuple[IPNetwork, ...]] = SettingType("networks", _networks)
HOSTS: SettingType[tuple[str, ...]] = SettingType("host names", _hosts)
ZIPCODE_URL: SettingType[str] = SettingType("URL", _zipcode_url)
BIND: SettingType[tuple[str, ...]] = SettingType("addresses", _bind)
BIND_ONE: SettingType[str] = SettingType("address", _bind_one)
ORIGINS: SettingType[tuple[str, ...]] = SettingType("origins", _origins)
RETENTION: SettingType[tuple[tuple[str, int], ...]] = SettingType("periods", _retention)
