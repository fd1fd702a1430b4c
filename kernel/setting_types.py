"""Read the text of a setting into a value, or say what was expected: the kinds that `kernel/settings.py` declares with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from kernel.addresses import Network, parse_network
from kernel.ids import parse_uuid

T = TypeVar("T")

LEAST_SECRET_LENGTH = 32


class Wrong(ValueError):
    """Say what is expected instead; `Settings.from_environment` adds the name and the value."""


@dataclass(frozen=True)
class SettingType(Generic[T]):
    """Say how a setting's text is read, in one word for the documentation."""

    name: str
    read: Callable[[str], T]


def one_of(*words: str) -> SettingType[str]:
    """Take one of the words, in any case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise Wrong(" or ".join(words))
        return text.lower()

    return SettingType("word", read)


def whole_number(least: int, most: int = 2**31 - 1) -> SettingType[int]:
    """Take a whole number in ASCII digits between the two, both included."""

    def read(text: str) -> int:
        # isascii: int() would take digits of every script.
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most):
            raise Wrong(f"a whole number from {least} to {most}")
        return int(text)

    return SettingType("whole number", read)


def seconds(least: float, most: float) -> SettingType[float]:
    """Take a number of seconds between the two, both included."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not least <= value <= most:  # NaN is not either
            raise Wrong(f"seconds from {least:g} to {most:g}")
        return value

    return SettingType("seconds", read)


def _yes_or_no(text: str) -> bool:
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if text.lower() not in words:
        raise Wrong("1 or 0")
    return words[text.lower()]


def address_of(*schemes: str) -> SettingType[str]:
    """Take an address with one of the schemes; what follows is left to whoever connects."""

    expected = f"an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}"

    def read(text: str) -> str:
        try:
            parts = urlsplit(text)
            _ = parts.port
        except ValueError as error:
            raise Wrong(expected) from error
        if parts.scheme not in schemes or text.partition("://")[2] == "":
            raise Wrong(expected)
        return text

    return SettingType("address", read)


def _web_address(text: str) -> str:
    read = address_of("http", "https").read(text)
    parts = urlsplit(read)
    if not parts.hostname or parts.query or parts.fragment or parts.username is not None:
        raise Wrong("an http or https address without query, fragment or log-in")
    return read.rstrip("/")


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _networks(text: str) -> tuple[Network, ...]:
    networks = [parse_network(item) for item in _items(text)]
    if not networks or None in networks:
        raise Wrong("addresses or networks such as 10.0.0.0/8, separated by commas")
    return tuple(network for network in networks if network is not None)


def _hosts(text: str) -> tuple[str, ...]:
    hosts = [item.lower() for item in _items(text)]
    if not hosts or any(
        set(host) & set("/@ ?#") or (":" in host and not host.startswith("[")) for host in hosts
    ):
        raise Wrong("host names without port, separated by commas ([::1] for an IPv6 address)")
    return tuple(hosts)


def _bind(text: str) -> tuple[str, ...]:
    addresses = [item.removeprefix("[").removesuffix("]") for item in _items(text)]
    if not addresses or any(set(address) & set("/@ ?#[]") for address in addresses):
        raise Wrong("addresses to listen on, without port, separated by commas")
    return tuple(addresses)


def _origins(text: str) -> tuple[str, ...]:
    expected = "* or origins such as https://shop.example, separated by commas"
    origins = _items(text)
    for origin in origins:
        try:
            parts = urlsplit(origin)
            _ = parts.port
        except ValueError as error:
            raise Wrong(expected) from error
        if origin != "*" and (
            parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc}"
        ):
            raise Wrong(expected)
    if not origins:
        raise Wrong(expected)
    return tuple(origins)


def _store(text: str) -> UUID:
    store = parse_uuid(text)
    if store is None:
        raise Wrong("a store's UUID")
    return store


def _secret(text: str) -> str:
    if len(text) < LEAST_SECRET_LENGTH:
        raise Wrong(f"at least {LEAST_SECRET_LENGTH} characters, such as `openssl rand -base64 48` prints")
    return text


YES_OR_NO: SettingType[bool] = SettingType("1 or 0", _yes_or_no)
SECRET: SettingType[str] = SettingType("text", _secret)
STORE: SettingType[UUID] = SettingType("UUID", _store)
FOLDER: SettingType[Path] = SettingType("folder", Path)
WEB_ADDRESS: SettingType[str] = SettingType("address", _web_address)
NETWORKS: SettingType[tuple[Network, ...]] = SettingType("networks", _networks)
HOSTS: SettingType[tuple[str, ...]] = SettingType("host names", _hosts)
BIND: SettingType[tuple[str, ...]] = SettingType("addresses", _bind)
ORIGINS: SettingType[tuple[str, ...]] = SettingType("origins", _origins)
