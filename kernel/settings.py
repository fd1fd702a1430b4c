"""Load every setting from the environment once, at start; an invalid value stops the program with one line that names it.

Each setting is a field of `Settings`: its name in the environment, its type, what applies when it is unset, and its description.
`SETTINGS` is the same as a table, for the documentation and `vitrine doctor` (docs/reference/shared.md#configuration).

A blank value counts as unset, because a compose file passes unset variables that way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from kernel.ip_addresses import IPNetwork, is_loopback
from kernel.retention import DEFAULT_DAYS
from kernel.setting_types import (
    BIND,
    BIND_ONE,
    BOOLEAN,
    DIRECTORY,
    HOSTS,
    HTTP_URL,
    MIN_SECRET_LENGTH,
    NETWORKS,
    ORIGINS,
    REDIS_URL,
    RETENTION,
    SECRET,
    SECRETS,
    SMTP_URL,
    STORAGE_URL,
    STORE_ID,
    ZIPCODE_URL,
    InvalidSetting,
    SettingType,
    integer_between,
    one_of,
    seconds,
    url_of,
    urls_of,
)

DEVELOPMENT, PRODUCTION = "development", "production"
LOOPBACK = ("127.0.0.1", "::1")
ALL_ADDRESSES = ("0.0.0.0", "::")
# The database times out before the request does, so that the response still states the reason.
STATEMENT_TIMEOUT_RATIO = 0.9


class SettingError(ValueError):
    """Report in one line which setting is invalid, its value and what was expected."""


@dataclass(frozen=True)
class Setting:
    """One setting as the documentation lists it."""

    name: str
    type: str
    default: str
    description: str
    secret: bool
    attribute: str


POSTGRESQL = url_of("postgresql", "postgres")
POSTGRESQL_URLS = urls_of("postgresql", "postgres")
RATE = integer_between(0)


def _setting(
    default: Any, type_: SettingType[Any], description: str, *, name: str = "", unset: str = "", secret: bool = False
) -> Any:
    """Return a field of `Settings`; `unset` describes the value of an unset setting where the default alone doesn't.

    In the environment its name is that of the field with `VITRINE_` before it, or `name`.
    """
    metadata = {"name": name, "type": type_, "description": description, "unset": unset}
    return field(default=default, repr=not secret, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting. Rates are requests per minute, 0 for no limit; times are seconds. The representation leaves out secrets."""

    env: str = _setting(DEVELOPMENT, one_of(DEVELOPMENT, PRODUCTION), "The environment: development or production.")
    database_url: str | None = _setting(
        None,
        POSTGRESQL,
        "The PostgreSQL database, with the role that owns it.",
        name="DATABASE_URL",
        unset="an embedded PostgreSQL",
        secret=True,
    )
    app_database_url: str | None = _setting(
        None, POSTGRESQL, "The database role that serves requests, if not the owner.", unset="DATABASE_URL", secret=True
    )
    pooler_url: str | None = _setting(
        None,
        POSTGRESQL,
        "The same database through a pooler in transaction mode such as PgBouncer, with a login role of its own (docs/scaling.md).",
        unset="no pooler",
        secret=True,
    )
    replica_urls: tuple[str, ...] = _setting(
        (),
        POSTGRESQL_URLS,
        "The streaming replicas that answer queries, separated by commas (docs/scaling.md).",
        name="VITRINE_REPLICA_URL",
        unset="none",
        secret=True,
    )
    secret_key: str | None = _setting(
        None,
        SECRET,
        "The key that encrypts stored secrets; keep a backup, because without it they can't be decrypted.",
        unset="development: generated once in VITRINE_DATA_DIR",
        secret=True,
    )
    secret_key_fallbacks: tuple[str, ...] = _setting(
        (),
        SECRETS,
        "Further keys that decrypt stored secrets but encrypt none, to replace VITRINE_SECRET_KEY.",
        unset="none",
        secret=True,
    )
    port: int = _setting(
        8_000, integer_between(0, 65_535), "The TCP port to listen on; 0 picks a free one.", name="PORT"
    )
    bind: tuple[str, ...] = _setting(
        (), BIND, "The addresses to listen on.", unset="development: loopback only; production: all"
    )
    base_url: str = _setting(
        "", HTTP_URL, "The public URL, for links and issued tokens.", unset="http://localhost:PORT"
    )
    media_url: str = _setting(
        "",
        HTTP_URL,
        "The address before the paths of media files, such as a CDN's, which all stores share.",
        unset="the store's own host",
    )
    media_public: bool = _setting(
        False,
        BOOLEAN,
        "Whether the storage's provider shows media files to everyone, so that links to them are not signed.",
    )
    processes: int = _setting(1, integer_between(1, 256), "The number of server processes.", name="WEB_CONCURRENCY")
    redis_url: str | None = _setting(
        None,
        REDIS_URL,
        "The Redis that shares rate limits between processes and machines; while it is down each process counts alone.",
        name="REDIS_URL",
        unset="limits are counted per process",
        secret=True,
    )
    shared_hosts: tuple[str, ...] = _setting(
        ("localhost", "127.0.0.1", "[::1]"), HOSTS, "The hosts at which X-Tenant-ID selects the store."
    )
    default_store: UUID | None = _setting(
        None, STORE_ID, "The store of the shared hosts when X-Tenant-ID is absent.", unset="none"
    )
    trusted_proxies: tuple[IPNetwork, ...] = _setting(
        (), NETWORKS, "The proxies whose X-Forwarded-For is trusted.", unset="none"
    )
    internal_secret: str | None = _setting(
        None,
        SECRET,
        "What a proxy on another machine sends to /internal/hosts/allowed (docs/deploy.md#hosts-and-certificates).",
        unset="only callers on this machine may ask",
        secret=True,
    )
    ip_rate: int = _setting(6_000, RATE, "Requests per minute from one client address (IPv6: one /64); 0 for no limit.")
    failed_auth_rate: int = _setting(
        120,
        RATE,
        "Requests per minute with an invalid credential from one client address, and of `/graphql` without one; 0 for no limit.",
    )
    legacy_rate: int = _setting(
        0, RATE, "Requests per minute of one credential on the legacy API; 0 for no limit.", unset="no limit"
    )
    access_token_lifetime: float = _setting(
        900.0,
        seconds(60, 86_400),
        "How long an access token is valid; clients refresh it, so a change needs no action of theirs.",
    )
    request_timeout: float = _setting(
        30.0, seconds(0.1, 3_600), "How long a request may take before it is cancelled with 503."
    )
    drain_time: float = _setting(
        2.0,
        seconds(0, 300),
        "How long, after SIGTERM, /health/ready is 503 before connections are refused: until the proxy in front has noticed.",
    )
    keep_alive: float = _setting(
        75.0,
        seconds(1, 3_600),
        "How long a connection without a request stays open; longer than the idle time-out of a proxy in front.",
    )
    header_timeout: float = _setting(
        10.0, seconds(0.1, 3_600), "How long the head of a request may take to arrive before its connection is closed."
    )
    write_timeout: float = _setting(
        30.0,
        seconds(0.1, 3_600),
        "How long a client may take to read VITRINE_WRITE_BUFFER bytes of a response before its connection is closed.",
    )
    write_buffer: int = _setting(
        65_536,
        integer_between(16_384, 16_777_216),
        "The bytes of a response that a connection buffers before it waits for the client to read.",
    )
    address_connections: int = _setting(
        200,
        RATE,
        "Open connections per process from one address (IPv6: one /64) that is not a trusted proxy; 0 for no limit.",
    )
    address_requests: int = _setting(
        100, RATE, "Concurrent requests per process from one client address (IPv6: one /64); 0 for no limit."
    )
    streams: int = _setting(2_500, RATE, "Open event streams and subscriptions per process; 0 for no limit.")
    caller_streams: int = _setting(
        50, RATE, "Open event streams and subscriptions of one caller (app or user) per process; 0 for no limit."
    )
    pool_size: int = _setting(10, integer_between(2, 1_000), "The maximum number of database connections per process.")
    compiled_reads: bool = _setting(
        True, BOOLEAN, "Whether queries, and the answers of mutations, bypass the GraphQL executor; 0 to compare."
    )
    pipelined_binding: bool = _setting(
        True, BOOLEAN, "Whether a transaction's store is set together with its statement; 0 for a statement of its own."
    )
    graphql_max_objects: int = _setting(
        50_000, integer_between(1), "The maximum number of objects in an answer of /graphql."
    )
    graphql_max_bytes: int = _setting(
        16 * 1024 * 1024, integer_between(1), "The maximum size of an answer of /graphql in bytes."
    )
    catalogue_cache_bytes: int = _setting(
        32 * 1024 * 1024,
        integer_between(0),
        "The memory of a process for answers to reads of the catalogue; 0 keeps none.",
    )
    metrics_port: int = _setting(
        9_464, integer_between(0, 65_534), "The TCP port of /metrics; `vitrine worker` uses the next one; 0 for none."
    )
    metrics_bind: str = _setting("127.0.0.1", BIND_ONE, "The address of /metrics, which needs no credential.")
    store_metrics_port: int = _setting(
        0,
        integer_between(0, 65_535),
        "The TCP port at which workers show what each store uses, with its name, to Prometheus and by GraphQL; 0 for none.",
        unset="none",
    )
    otlp_endpoint: str | None = _setting(
        None,
        url_of("http", "https"),
        "The OpenTelemetry collector that gets the traces, by OTLP over HTTP.",
        name="OTEL_EXPORTER_OTLP_ENDPOINT",
        unset="no traces",
        secret=True,
    )
    cors_origins: tuple[str, ...] = _setting(
        ("*",),
        ORIGINS,
        "The origins whose pages may call /graphql, /api/v1/storefront, /api/v1/auth and the OAuth token routes.",
    )
    pagarme_url: str = _setting(
        "https://api.pagar.me/core/v5",
        url_of("https", "http"),
        "The API of the payment gateway Pagar.me, for tests of it.",
    )
    zipcode_url: str | None = _setting(
        None,
        ZIPCODE_URL,
        "The service for the addresses of postal codes, in the form of ViaCEP, as https://viacep.com.br/ws/{zipcode}/json/.",
        unset="destinations alone answer",
    )
    sandbox_payments: bool | None = _setting(
        None,
        BOOLEAN,
        "Whether stores may take payments through the built-in gateway sandbox, which moves no money.",
        unset="development: 1; production: 0",
    )
    example_storefront: bool | None = _setting(
        None,
        BOOLEAN,
        "Whether stores show the example storefront at their own addresses.",
        unset="development: the demo store only; production: none",
    )
    private_endpoints: bool | None = _setting(
        None,
        BOOLEAN,
        "Whether webhook endpoints may be http or private addresses.",
        unset="development on loopback: 1; else 0",
    )
    smtp_url: str | None = _setting(
        None, SMTP_URL, "The mail server.", name="SMTP_URL", unset="mails stay queued", secret=True
    )
    retention: tuple[tuple[str, int], ...] = _setting(
        (),
        RETENTION,
        "How many days data are kept that grow without end, as audit_log=1825,mails=30; 0 for ever.",
        unset="the periods of [retention](deploy.md#retention)",
    )
    moved_stores_days: int = _setting(
        1,
        integer_between(0, 36_500),
        "How many days what a store left here that moved to another database is kept, the only copy if that one is lost "
        "(docs/scaling.md#move-a-store-while-it-serves); 0 for ever.",
    )
    storage_url: str | None = _setting(
        None,
        STORAGE_URL,
        "The storage of all files, shared by all machines: file:///folder, s3://bucket/prefix?endpoint=…&region=…, gs://bucket "
        "or az://container; credentials in the provider's environment variables.",
        unset="storage in VITRINE_DATA_DIR",
        secret=True,
    )
    bulk_daily_rows: int = _setting(
        10_000_000, RATE, "The lines that the bulk queries of one user or app may have in a day; 0 for no limit."
    )
    bulk_upload_bytes: int = _setting(
        256 * 1024 * 1024, integer_between(1), "The maximum size of the file of a bulk mutation in bytes."
    )
    bulk_store_upload_bytes: int = _setting(
        2 * 1024**3,
        integer_between(1),
        "The maximum size of all uploaded files of a store together in bytes.",
    )
    media_store_upload_bytes: int = _setting(
        1024**3,
        integer_between(1),
        "The maximum size of a store's uploads of media files that are not complete, together in bytes.",
    )
    data_dir: Path = _setting(
        Path(".vitrine"), DIRECTORY, "The directory of the embedded PostgreSQL and of generated development keys."
    )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Load the settings; raise SettingError for the first that is invalid, or that production requires."""
        values: dict[str, Any] = {}
        for name in environ:
            if name == "VITRINE_BULK_DIR" or name.startswith("VITRINE_BULK_S3_"):
                raise SettingError(
                    f"{name} is no setting any more; expected VITRINE_STORAGE_URL, for all files (docs/deploy.md#files)"
                )
        for field_ in dataclasses.fields(cls):
            text = environ.get(_name_of(field_), "").strip()
            if text:
                values[field_.name] = _parse(field_, text)
        settings = cls(**values)
        if settings.is_production and settings.secret_key is None:
            raise SettingError(
                "VITRINE_SECRET_KEY is not set; production expects "
                f"at least {MIN_SECRET_LENGTH} characters, the same at every start"
            )
        for name, value in (
            ("VITRINE_APP_DATABASE_URL", settings.app_database_url),
            ("VITRINE_POOLER_URL", settings.pooler_url),
            ("VITRINE_REPLICA_URL", settings.replica_urls),
        ):
            if value and settings.database_url is None:
                raise SettingError(f"{name} is set without DATABASE_URL; expected both or neither")
        return settings

    @property
    def secret_keys(self) -> tuple[bytes, ...]:
        """Return the secret key, which must be set, and its fallbacks."""
        assert self.secret_key is not None
        return tuple(key.encode() for key in (self.secret_key, *self.secret_key_fallbacks))

    @property
    def storage_address(self) -> str:
        """Return the address of the storage of files, by default a folder in the data directory."""
        return self.storage_url or (self.data_dir.absolute() / "storage").as_uri()

    @property
    def access_lifetime(self) -> timedelta:
        """Return the lifetime of access tokens, whose times have whole seconds."""
        return timedelta(seconds=int(self.access_token_lifetime))

    @property
    def retention_days(self) -> dict[str, int]:
        """Return the days of every period, the defaults included."""
        return {**DEFAULT_DAYS, **dict(self.retention)}

    @property
    def has_sandbox(self) -> bool:
        """Return whether stores may take payments through the gateway `sandbox`."""
        return not self.is_production if self.sandbox_payments is None else self.sandbox_payments

    @property
    def is_production(self) -> bool:
        """Return whether the environment is production."""
        return self.env == PRODUCTION

    @property
    def bind_addresses(self) -> tuple[str, ...]:
        """Return the addresses to listen on (docs/reference/shared.md#configuration)."""
        return self.bind or (ALL_ADDRESSES if self.is_production else LOOPBACK)

    @property
    def is_private_development(self) -> bool:
        """Return whether only this machine can connect: development conveniences are enabled here and nowhere else."""
        return not self.is_production and all(is_loopback(address) for address in self.bind_addresses)

    @property
    def allows_private_endpoints(self) -> bool:
        """Return whether webhooks may go to `http` and private addresses; never from a development server that others can reach."""
        if self.is_production:
            return bool(self.private_endpoints)
        return self.is_private_development and self.private_endpoints is not False

    @property
    def public_url(self) -> str:
        """Return the base URL for links and issued tokens, without a trailing slash."""
        return self.base_url or f"http://localhost:{self.port}"

    @property
    def statement_timeout_ms(self) -> int:
        """Return the statement timeout of the database, below the request timeout."""
        return max(1, int(self.request_timeout * STATEMENT_TIMEOUT_RATIO * 1_000))


def _name_of(field_: dataclasses.Field[Any]) -> str:
    """Return the name of a setting in the environment."""
    return field_.metadata["name"] or f"VITRINE_{field_.name.upper()}"


def _parse(field_: dataclasses.Field[Any], text: str) -> Any:
    try:
        return field_.metadata["type"].parse(text)
    except InvalidSetting as error:
        # The line goes to a log, so it must not contain a secret's value, nor the log-in or query of a URL.
        shown = repr(text) if field_.repr and "@" not in text and "?" not in text else "set to something else"
        raise SettingError(f"{_name_of(field_)} is {shown}; expected {error}") from error


def _format_default(value: object) -> str:
    """Format a default as in the environment."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(
        name=_name_of(field_),
        type=field_.metadata["type"].name,
        default=field_.metadata["unset"] or _format_default(field_.default),
        description=field_.metadata["description"],
        secret=not field_.repr,
        attribute=field_.name,
    )
    for field_ in dataclasses.fields(Settings)
)
