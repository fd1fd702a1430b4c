"""Read every setting from the environment, once, at start; a wrong value stops the program with one line that names it.

A setting is declared in one place, as a field of `Settings`: its name in the environment, how its text is read, what stands when
it is unset, and the line that documents it. `SETTINGS` is the same as a table, for the documentation and `vitrine doctor`.

A blank value counts as unset, because that is what a compose file writes for a variable nobody gave.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from kernel.addresses import Network, is_loopback
from kernel.setting_types import (
    BIND,
    FOLDER,
    HOSTS,
    LEAST_SECRET_LENGTH,
    NETWORKS,
    ORIGINS,
    SECRET,
    STORE,
    WEB_ADDRESS,
    YES_OR_NO,
    SettingType,
    Wrong,
    address_of,
    one_of,
    seconds,
    whole_number,
)

DEVELOPMENT, PRODUCTION = "development", "production"
LOOPBACK = ("127.0.0.1", "::1")
ALL_ADDRESSES = ("0.0.0.0", "::")
# The database gives up this long before the route does, so that the answer still says why.
STATEMENT_MARGIN = 0.9


class SettingError(ValueError):
    """Say in one line which setting is wrong, what was given and what is expected."""


@dataclass(frozen=True)
class Setting:
    """Describe one setting as the documentation shows it."""

    name: str
    type: str
    default: str
    line: str
    secret: bool
    attribute: str


POSTGRESQL = address_of("postgresql", "postgres")
RATE = whole_number(0)


def _declared(name: str, kind: SettingType[Any], line: str, *, unset: str = "") -> Mapping[str, Any]:
    """Describe a field; `unset` says what stands for an unset one where the default alone doesn't tell."""
    return {"name": name, "kind": kind, "line": line, "unset": unset}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Hold every setting. Rates are requests a minute, 0 for no limit; times are seconds. `repr=False` marks a secret."""

    env: str = field(
        default=DEVELOPMENT,
        metadata=_declared(
            "VITRINE_ENV",
            one_of(DEVELOPMENT, PRODUCTION),
            "What the server is run for: development or production.",
        ),
    )
    database_url: str | None = field(
        default=None,
        repr=False,
        metadata=_declared(
            "DATABASE_URL",
            POSTGRESQL,
            "The PostgreSQL of the shop, as its owner.",
            unset="an embedded PostgreSQL",
        ),
    )
    app_database_url: str | None = field(
        default=None,
        repr=False,
        metadata=_declared(
            "VITRINE_APP_DATABASE_URL",
            POSTGRESQL,
            "The log-in that serves, where it is not the owner's.",
            unset="DATABASE_URL",
        ),
    )
    secret_key: str | None = field(
        default=None,
        repr=False,
        metadata=_declared(
            "VITRINE_SECRET_KEY",
            SECRET,
            "The key that signs and encrypts stored secrets; keep a copy, for without it they can't be read.",
            unset="development: made once in VITRINE_DATA_DIR",
        ),
    )
    port: int = field(
        default=8_000,
        metadata=_declared("PORT", whole_number(0, 65_535), "The TCP port to listen on; 0 takes a free one."),
    )
    bind: tuple[str, ...] = field(
        default=(),
        metadata=_declared(
            "VITRINE_BIND",
            BIND,
            "The addresses to listen on.",
            unset="development: loopback only; production: all",
        ),
    )
    base_url: str = field(
        default="",
        metadata=_declared(
            "VITRINE_BASE_URL",
            WEB_ADDRESS,
            "The address that clients and browsers call, for links and issued tokens.",
            unset="http://localhost:PORT",
        ),
    )
    processes: int = field(
        default=1, metadata=_declared("WEB_CONCURRENCY", whole_number(1, 256), "How many processes serve.")
    )
    redis_url: str | None = field(
        default=None,
        repr=False,
        metadata=_declared(
            "REDIS_URL",
            address_of("redis", "rediss", "unix"),
            "The Redis that shares request limits between processes and machines; while it is away each process counts alone.",
            unset="limits are counted per process",
        ),
    )
    shared_hosts: tuple[str, ...] = field(
        default=("localhost", "127.0.0.1", "[::1]"),
        metadata=_declared(
            "VITRINE_SHARED_HOSTS",
            HOSTS,
            "The hosts at which X-Tenant-ID names the store.",
        ),
    )
    default_store: UUID | None = field(
        default=None,
        metadata=_declared(
            "VITRINE_DEFAULT_STORE",
            STORE,
            "The store that answers at a shared host when X-Tenant-ID is absent.",
            unset="none",
        ),
    )
    trusted_proxies: tuple[Network, ...] = field(
        default=(),
        metadata=_declared(
            "VITRINE_TRUSTED_PROXIES",
            NETWORKS,
            "The proxies whose X-Forwarded-For is believed.",
            unset="none",
        ),
    )
    ip_rate: int = field(
        default=6_000,
        metadata=_declared(
            "VITRINE_IP_RATE",
            RATE,
            "Requests a minute from one client address (IPv6: one /64); 0 for no limit.",
        ),
    )
    failed_auth_rate: int = field(
        default=120,
        metadata=_declared(
            "VITRINE_FAILED_AUTH_RATE",
            RATE,
            "Requests with a wrong credential a minute from one client address; 0 for no limit.",
        ),
    )
    legacy_rate: int = field(
        default=0,
        metadata=_declared(
            "VITRINE_LEGACY_RATE",
            RATE,
            "Requests a minute of one credential on the legacy layer; 0 for no limit.",
            unset="no limit",
        ),
    )
    request_timeout: float = field(
        default=30.0,
        metadata=_declared(
            "VITRINE_REQUEST_TIMEOUT",
            seconds(0.1, 3_600),
            "How long a request may take before it is cut off with 503.",
        ),
    )
    pool_size: int = field(
        default=10,
        metadata=_declared(
            "VITRINE_POOL_SIZE",
            whole_number(2, 1_000),
            "Database connections that each process serves requests with, at most.",
        ),
    )
    compiled_reads: bool = field(
        default=True,
        metadata=_declared(
            "VITRINE_COMPILED_READS",
            YES_OR_NO,
            "Whether operations that only read go without a GraphQL executor; 0 to compare.",
            unset="1",
        ),
    )
    cors_origins: tuple[str, ...] = field(
        default=("*",),
        metadata=_declared(
            "VITRINE_CORS_ORIGINS",
            ORIGINS,
            "The origins whose pages may call /graphql and /api/v1/storefront.",
        ),
    )
    private_endpoints: bool | None = field(
        default=None,
        metadata=_declared(
            "VITRINE_PRIVATE_ENDPOINTS",
            YES_OR_NO,
            "Whether event endpoints may be http or private addresses.",
            unset="development on loopback: 1; else 0",
        ),
    )
    smtp_url: str | None = field(
        default=None,
        repr=False,
        metadata=_declared(
            "SMTP_URL", address_of("smtp", "smtps"), "The mail server.", unset="mails stay queued"
        ),
    )
    data_dir: Path = field(
        default=Path(".vitrine"),
        metadata=_declared(
            "VITRINE_DATA_DIR",
            FOLDER,
            "Where the embedded PostgreSQL and keys made for development are kept.",
        ),
    )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Read the settings; SettingError for the first that is wrong, or that production lacks."""
        given: dict[str, Any] = {}
        for declared in dataclasses.fields(cls):
            about = declared.metadata
            text = environ.get(about["name"], "").strip()
            if text:
                given[declared.name] = _read(about, text, secret=not declared.repr)
        settings = cls(**given)
        if settings.is_production and settings.secret_key is None:
            raise SettingError(
                "VITRINE_SECRET_KEY is not set; production expects "
                f"at least {LEAST_SECRET_LENGTH} characters, the same at every start"
            )
        if settings.app_database_url is not None and settings.database_url is None:
            raise SettingError(
                "VITRINE_APP_DATABASE_URL is set without DATABASE_URL; expected both or neither"
            )
        return settings

    @property
    def is_production(self) -> bool:
        """Say whether this serves real shops."""
        return self.env == PRODUCTION

    @property
    def bind_addresses(self) -> tuple[str, ...]:
        """Give the addresses to listen on (decisions section 9)."""
        return self.bind or (ALL_ADDRESSES if self.is_production else LOOPBACK)

    @property
    def is_private_development(self) -> bool:
        """Say whether only this machine can call: what makes development comfortable is allowed here and nowhere else."""
        return not self.is_production and all(is_loopback(address) for address in self.bind_addresses)

    @property
    def allows_private_endpoints(self) -> bool:
        """Say whether events may go to `http` and private addresses; never from a development server others can reach."""
        if self.is_production:
            return bool(self.private_endpoints)
        return self.is_private_development and self.private_endpoints is not False

    @property
    def public_url(self) -> str:
        """Give the address for links and issued tokens, without a slash at the end."""
        return self.base_url or f"http://localhost:{self.port}"

    @property
    def statement_timeout_ms(self) -> int:
        """Give the time the database has for one statement, below the request's own."""
        return max(1, int(self.request_timeout * STATEMENT_MARGIN * 1_000))


def _read(about: Mapping[str, Any], text: str, *, secret: bool) -> Any:
    try:
        kind: SettingType[Any] = about["kind"]
        return kind.read(text)
    except Wrong as error:
        # A secret's value stays out of the line, for it will stand in a log.
        given = "set to something else" if secret else repr(text)
        raise SettingError(f"{about['name']} is {given}; expected {error}") from error


def _written(value: object) -> str:
    """Write a default as the environment would give it."""
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(
        name=declared.metadata["name"],
        type=declared.metadata["kind"].name,
        default=declared.metadata["unset"] or _written(declared.default),
        line=declared.metadata["line"],
        secret=not declared.repr,
        attribute=declared.name,
    )
    for declared in dataclasses.fields(Settings)
)
