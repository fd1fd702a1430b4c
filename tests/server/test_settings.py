"""Parsing of settings and the messages for invalid ones."""

from __future__ import annotations

import stat
from dataclasses import fields
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from uuid import UUID

import pytest

from kernel.settings import SETTINGS, SettingError, Settings
from server.secret_key import with_secret_key

SECRET = "s" * 32
STORE = "01900000-0000-7000-8000-000000000001"


def test_no_setting_is_required_in_development():
    settings = Settings.from_environment({})
    assert settings == Settings()
    assert (settings.port, settings.ip_rate, settings.failed_auth_rate, settings.legacy_rate) == (
        8000,
        6000,
        120,
        0,
    )
    assert (settings.request_timeout, settings.is_production, settings.data_dir) == (
        30.0,
        False,
        Path(".vitrine"),
    )
    assert settings.shared_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert settings.public_url == "http://localhost:8000"
    assert settings.bind_addresses == ("127.0.0.1", "::1")


@pytest.mark.parametrize(
    "name,text,attribute,value",
    [
        ("VITRINE_ENV", " Development ", "env", "development"),
        ("DATABASE_URL", "postgres://u:p@h:5432/d?sslmode=require", "database_url", "postgres://u:p@h:5432/d?sslmode=require"),
        ("DATABASE_URL", "postgresql:///d?host=/run/pg", "database_url", "postgresql:///d?host=/run/pg"),
        ("DATABASE_URL", f"postgres://%2Frun%2F{'p' * 64}/d", "database_url", f"postgres://%2Frun%2F{'p' * 64}/d"),
        ("VITRINE_SECRET_KEY", SECRET, "secret_key", SECRET),
        ("VITRINE_SECRET_KEY_FALLBACKS", f"{SECRET}, {SECRET}2", "secret_key_fallbacks", (SECRET, f"{SECRET}2")),
        ("VITRINE_SECRET_KEY_FALLBACKS", f'["{SECRET},{SECRET}"]', "secret_key_fallbacks", (f"{SECRET},{SECRET}",)),
        ("PORT", "0", "port", 0),
        ("VITRINE_BIND", "0.0.0.0, [::1]", "bind", ("0.0.0.0", "::1")),
        ("VITRINE_BASE_URL", "https://shop.example/", "public_url", "https://shop.example"),
        ("WEB_CONCURRENCY", "4", "processes", 4),
        ("REDIS_URL", "rediss://:p@h:6379/0", "redis_url", "rediss://:p@h:6379/0"),
        ("VITRINE_SHARED_HOSTS", "API.example, localhost", "shared_hosts", ("api.example", "localhost")),
        ("VITRINE_DEFAULT_STORE", STORE, "default_store", UUID(STORE)),
        ("VITRINE_TRUSTED_PROXIES", "10.0.0.0/8,::1", "trusted_proxies", (ip_network("10.0.0.0/8"), ip_network("::1"))),
        ("VITRINE_IP_RATE", "0", "ip_rate", 0),
        ("VITRINE_REQUEST_TIMEOUT", "2.5", "request_timeout", 2.5),
        ("VITRINE_ACCESS_TOKEN_LIFETIME", "", "access_lifetime", timedelta(minutes=15)),
        ("VITRINE_ACCESS_TOKEN_LIFETIME", "86400", "access_lifetime", timedelta(days=1)),
        ("VITRINE_ZIPCODE_URL", "https://cep.example/{zipcode}", "zipcode_url", "https://cep.example/{zipcode}"),
        ("VITRINE_MOVED_STORES_DAYS", "", "moved_stores_days", 1),
        ("VITRINE_MOVED_STORES_DAYS", "0", "moved_stores_days", 0),
        ("VITRINE_POOL_SIZE", "20", "pool_size", 20),
        ("VITRINE_CORS_ORIGINS", "https://a.example,http://b:81", "cors_origins", ("https://a.example", "http://b:81")),
        ("VITRINE_PRIVATE_ENDPOINTS", "0", "private_endpoints", False),
        ("SMTP_URL", "smtps://u:p@h?from=a@h", "smtp_url", "smtps://u:p@h?from=a@h"),
        ("VITRINE_DATA_DIR", "/var/lib/vitrine", "data_dir", Path("/var/lib/vitrine")),
    ],
)  # fmt: skip
def test_a_setting_is_read(name, text, attribute, value):
    assert getattr(Settings.from_environment({name: text}), attribute) == value


@pytest.mark.parametrize(
    "name,text",
    [
        ("VITRINE_ENV", "staging"),
        ("VITRINE_ACCESS_TOKEN_LIFETIME", "59"),
        ("VITRINE_ACCESS_TOKEN_LIFETIME", "86401"),
        ("DATABASE_URL", "mysql://u:hunter2@h/d"),
        ("DATABASE_URL", "postgres://u:hunter2@h:port/d"),
        ("DATABASE_URL", "postgres://u:hunter2@a..example/d"),
        ("DATABASE_URL", f"postgres://u:hunter2@/d?host={'a' * 64}.example"),
        ("DATABASE_URL", "postgres://u:hunter2@/d?host=a%00"),
        ("VITRINE_APP_DATABASE_URL", "hunter2"),
        ("VITRINE_SECRET_KEY", "hunter2"),
        ("VITRINE_SECRET_KEY_FALLBACKS", f"{SECRET},hunter2"),
        ("VITRINE_SECRET_KEY_FALLBACKS", ","),
        ("VITRINE_SECRET_KEY_FALLBACKS", f'["{SECRET}"'),
        ("VITRINE_SECRET_KEY_FALLBACKS", f'["{SECRET}", 12345678901234567890123456789012]'),
        ("PORT", "65536"),
        ("PORT", "8x"),
        ("PORT", "٨٠٠٠"),
        ("VITRINE_BIND", "http://localhost"),
        ("VITRINE_BASE_URL", "shop.example"),
        ("VITRINE_BASE_URL", "https://shop example"),
        ("WEB_CONCURRENCY", "0"),
        ("REDIS_URL", "http://h"),
        ("REDIS_URL", "redis://h:6379/limits"),
        ("VITRINE_SHARED_HOSTS", "localhost:8000"),
        ("VITRINE_SHARED_HOSTS", ","),
        ("VITRINE_SHARED_HOSTS", "*"),
        ("VITRINE_DEFAULT_STORE", "demo"),
        ("VITRINE_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("VITRINE_TRUSTED_PROXIES", "*"),
        ("VITRINE_IP_RATE", "-1"),
        ("VITRINE_FAILED_AUTH_RATE", "many"),
        ("VITRINE_LEGACY_RATE", "1.5"),
        ("VITRINE_REQUEST_TIMEOUT", "0"),
        ("VITRINE_REQUEST_TIMEOUT", "nan"),
        ("VITRINE_MOVED_STORES_DAYS", "-1"),
        ("VITRINE_MOVED_STORES_DAYS", "36501"),
        ("VITRINE_POOL_SIZE", "1"),
        ("VITRINE_ZIPCODE_URL", "https://cep.example/ws"),
        ("VITRINE_ZIPCODE_URL", "https://cep.example/{zipcode}/{0}"),
        ("VITRINE_ZIPCODE_URL", "cep.example/{zipcode}"),
        ("VITRINE_CORS_ORIGINS", "https://a.example/path"),
        ("VITRINE_CORS_ORIGINS", "shop.example"),
        ("VITRINE_CORS_ORIGINS", "https://"),
        ("VITRINE_CORS_ORIGINS", "https://:8443"),
        ("VITRINE_PRIVATE_ENDPOINTS", "perhaps"),
        ("SMTP_URL", "mail.example"),
        ("SMTP_URL", "smtp://h?from=shop"),
        ("SMTP_URL", "smtp://h?sender=shop@example.com"),
    ],
)
def test_an_invalid_value_is_rejected_in_one_line_that_names_the_setting(name, text):
    with pytest.raises(SettingError) as refused:
        Settings.from_environment({name: text})
    line = str(refused.value)
    assert line.startswith(f"{name} is ")
    assert "expected" in line
    assert "\n" not in line
    secret = next(setting.secret for setting in SETTINGS if setting.name == name)
    assert (repr(text) in line) is not secret
    assert "hunter2" not in line


@pytest.mark.parametrize(
    "name,text",
    [
        ("VITRINE_MEDIA_URL", "https://u:hunter2@cdn.example"),
        ("VITRINE_BASE_URL", "https://shop.example?key=hunter2"),
        ("VITRINE_CORS_ORIGINS", "https://u:hunter2@shop.example/path"),
        ("VITRINE_CORS_ORIGINS", "https://u:hunter2@shop.example"),
        ("VITRINE_ZIPCODE_URL", "https://cep.example/?key=hunter2"),
    ],
)
def test_a_refused_url_is_not_shown_with_a_log_in_or_query(name, text):
    with pytest.raises(SettingError, match=f"^{name} is set to something else; expected ") as refused:
        Settings.from_environment({name: text})
    assert "hunter2" not in str(refused.value)


def test_a_blank_value_counts_as_unset():
    assert Settings.from_environment({setting.name: "  " for setting in SETTINGS}) == Settings()


def test_secrets_are_not_in_the_repr():
    settings = Settings.from_environment(
        {"DATABASE_URL": "postgres://u:hunter2@h/d", "VITRINE_SECRET_KEY": "hunter2" * 5}
    )
    assert "hunter2" not in repr(settings)


def test_production_needs_a_secret_and_listens_everywhere():
    with pytest.raises(SettingError, match=r"^VITRINE_SECRET_KEY is not set; production expects"):
        Settings.from_environment({"VITRINE_ENV": "production"})
    settings = Settings.from_environment({"VITRINE_ENV": "production", "VITRINE_SECRET_KEY": SECRET})
    assert settings.bind_addresses == ("0.0.0.0", "::")
    assert not settings.allows_private_endpoints
    assert not settings.is_private_development


def test_app_database_url_requires_database_url():
    with pytest.raises(SettingError, match=r"^VITRINE_APP_DATABASE_URL is set without DATABASE_URL"):
        Settings.from_environment({"VITRINE_APP_DATABASE_URL": "postgres://u@h/d"})


@pytest.mark.parametrize(
    "environ,private,allowed",
    [
        ({}, True, True),
        ({"VITRINE_PRIVATE_ENDPOINTS": "0"}, True, False),
        ({"VITRINE_BIND": "0.0.0.0"}, False, False),
        ({"VITRINE_BIND": "0.0.0.0", "VITRINE_PRIVATE_ENDPOINTS": "1"}, False, False),
        ({"VITRINE_BIND": "localhost"}, True, True),
        ({"VITRINE_ENV": "production", "VITRINE_SECRET_KEY": SECRET, "VITRINE_PRIVATE_ENDPOINTS": "1"}, False, True),
    ],
)  # fmt: skip
def test_private_endpoints_are_allowed_on_loopback_or_by_setting(environ, private, allowed):
    settings = Settings.from_environment(environ)
    assert (settings.is_private_development, settings.allows_private_endpoints) == (private, allowed)


def test_the_database_times_out_before_the_request():
    assert Settings(request_timeout=30).statement_timeout_ms == 27_000


def test_every_setting_is_documented_in_one_line():
    assert [setting.attribute for setting in SETTINGS] == [each.name for each in fields(Settings)]
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.description.endswith(".")
        assert "\n" not in setting.description
        assert setting.type
        assert setting.default


# --- The development secret ------------------------------------------------------------------------------------------


def test_a_development_secret_is_created_once_and_private(tmp_path):
    settings = Settings(data_dir=tmp_path / "deep" / "er")
    made = with_secret_key(settings).secret_key
    path = tmp_path / "deep" / "er" / "secret_key"
    assert len(made) >= 32
    assert with_secret_key(settings).secret_key == made == path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["secret_key"]


def test_a_configured_secret_is_used_and_nothing_is_written(tmp_path):
    settings = Settings(secret_key=SECRET, data_dir=tmp_path)
    assert with_secret_key(settings) is settings
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_secret_is_not_replaced(tmp_path):
    (tmp_path / "secret_key").write_text("short\n")
    with pytest.raises(SettingError, match="is damaged"):
        with_secret_key(Settings(data_dir=tmp_path))
    assert (tmp_path / "secret_key").read_text() == "short\n"


def test_no_secret_is_created_in_production(tmp_path):
    with pytest.raises(SettingError, match="VITRINE_SECRET_KEY is not set"):
        with_secret_key(Settings(env="production", data_dir=tmp_path))


def test_an_invalid_data_folder_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="VITRINE_SECRET_KEY is not set and none can be stored in"):
        with_secret_key(Settings(data_dir=tmp_path / "file"))
