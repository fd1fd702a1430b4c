"""`vitrine keys reencrypt` knows every column with encrypted values, and every lasting keyed hash."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from inspect import isclass
from operator import attrgetter
from pathlib import Path

import pytest
from tortoise import fields
from tortoise.models import Model

from domain.reencryption import ENCRYPTED_COLUMNS, LASTING_PURPOSES
from domain.store_settings import STORE_SETTINGS
from models import MODEL_MODULES

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("auth", "domain", "schema", "resolvers", "rest_facade", "server")
# Binary columns that are not encrypted: hashes, public values, and notifications as they were received.
NOT_ENCRYPTED = ("hash", "fingerprint", "public_key", "key_id")
PLAIN = {("gateway_notifications", "body"), ("external_references", "digest"), ("carrier_quotes", "content_key")}
# Links, and keys that are made again from the current secret key, are no longer valid after it is replaced; quotas start again.
EXPIRING_HASHES = {"lockout", "storefront-key", "bulk uploads", "persisted document"}
# Signed links, which are valid for some minutes under the previous key as well.
LINK_HASHES = {"bulk files", "media uploads", "option files", "option file uploads"}
# What the event feed and domain.people.sealed_tokens made, and clients and mails hold; cursors of pages don't last.
LASTING_TOKENS = {"event cursor", "newsletter_confirm", "newsletter_cancel", "stock_notice"}
SIGNED_LINKS = {"keyed_hash": "sign", "keyed_hashes": "verify"}


def binary_columns() -> set[tuple[str, str]]:
    models = {
        member
        for name in MODEL_MODULES
        for member in vars(importlib.import_module(name)).values()
        if isclass(member) and issubclass(member, Model) and member._meta.db_table
    }
    return {
        (model._meta.db_table, name)
        for model in models
        for name, field in model._meta.fields_map.items()
        if isinstance(field, fields.BinaryField)
    }


def purposes(*functions: str, as_hex: bool = False) -> Iterator[str]:
    """Yield the purposes with which the functions of auth.secrets are called, `as_hex` only where the result is stored as text.

    What domain.signed_links calls counts for its callers, which name the purpose; domain.people.sealed_tokens stores nothing.
    """
    called = {*functions} | {SIGNED_LINKS[name] for name in functions if name in SIGNED_LINKS}
    for path in sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py")):
        text = path.read_text()
        if path.name in ("signed_links.py", "sealed_tokens.py") or not re.search(
            r"from (auth\.secrets|domain\.signed_links|auth) import|def keyed_hash\(", text
        ):
            continue
        tree = ast.parse(text)
        imported = {
            name.asname or name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in ("auth.secrets", "domain.signed_links")
            for name in node.names
            if name.name in called
        } or (called if path.name == "secrets.py" else set())
        in_hex = {
            node.func.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "hex"
        }
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            is_partial = ast.unparse(node).startswith("partial(secrets.encrypt_params, ")
            if is_partial and called == {"encrypt"} and not as_hex:
                yield attrgetter(ast.unparse(node.args[1]))(importlib.import_module(module))
            if node.func.id not in imported:
                continue
            if not as_hex or node in in_hex:
                purpose = node.args[0]
                if path.name == "secrets.py" and ast.unparse(purpose) == "purpose":
                    continue  # its own parameter
                assert isinstance(purpose, ast.Name | ast.Attribute), f"{path}: name the purpose"
                yield attrgetter(ast.unparse(purpose))(importlib.import_module(module))


def test_every_binary_column_is_covered_or_not_encrypted():
    covered = {(column.table, column.column) for column in ENCRYPTED_COLUMNS if not column.is_hex}
    binary = binary_columns()
    assert covered <= binary
    assert {column for column in binary - covered - PLAIN if not column[1].endswith(NOT_ENCRYPTED)} == set()


def test_every_purpose_of_encryption_is_covered():
    assert {*purposes("encrypt")} == {column.purpose for column in ENCRYPTED_COLUMNS}


def test_every_purpose_that_is_stored_as_text_is_covered():
    assert {*purposes("encrypt", as_hex=True)} == {column.purpose for column in ENCRYPTED_COLUMNS if column.is_hex}


def test_every_secret_setting_is_covered():
    secret = {name for name, setting in STORE_SETTINGS.items() if setting.secret}
    assert secret == {column.member for column in ENCRYPTED_COLUMNS if column.member}


def test_every_purpose_of_a_keyed_hash_is_retained_or_expires():
    lasting = {*LASTING_PURPOSES} - LASTING_TOKENS
    assert {*purposes("keyed_hash", "keyed_hashes")} == {*lasting, *EXPIRING_HASHES, *LINK_HASHES}
    assert {*purposes("keyed_hashes")} == {*lasting, *LINK_HASHES}


def test_the_purposes_of_tokens_that_others_hold_are_retained():
    assert {*purposes("encrypt_deterministic")} == {"event cursor", "cursors"}
    assert LASTING_TOKENS.issubset(LASTING_PURPOSES)


@pytest.mark.parametrize("column", ENCRYPTED_COLUMNS, ids=lambda column: column.name)
def test_a_column_belongs_to_the_platform_or_to_stores(column):
    (model,) = {
        member
        for name in MODEL_MODULES
        for member in vars(importlib.import_module(name)).values()
        if isclass(member) and issubclass(member, Model) and member._meta.db_table == column.table
    }
    assert column.is_platform is ("tenant_id" not in model._meta.fields_map)
