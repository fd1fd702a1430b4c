"""Every setting takes effect."""

from __future__ import annotations

import ast
import os
from dataclasses import fields
from typing import Any

from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from domain.store_settings import STORE_SETTINGS
from kernel.settings import Settings
from resolvers.engine import compile as query_compiler
from server.app import create_app
from tests.test_repository import modules


def test_every_setting_is_read():
    attributes = {
        node.attr
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        # A property of Settings may read a field for others: `self.<field>`.
        if isinstance(node, ast.Attribute)
    }
    assert {field.name for field in fields(Settings)} - attributes == set()


def test_every_setting_of_a_store_is_read():
    names, beginnings = set(), set()
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tree.body = [node for node in tree.body if not _declares_store_settings(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(node.values[0].value)
            elif isinstance(node, ast.Constant):
                names.add(node.value)
    unread = {name for name, setting in STORE_SETTINGS.items() if not {name, setting.stored_as} & names}
    assert {name for name in unread if f"{name.partition('_')[0]}_" not in beginnings} == set(), (
        "nothing outside of STORE_SETTINGS names these settings: domain/store_settings.py has `setting`, which reads one"
    )


def _declares_store_settings(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "STORE_SETTINGS"


async def test_compiled_reads_can_be_disabled(sample):
    query = {"query": "{ products(limit: 2) { id name category { id name } images { url } } }"}

    async def read() -> tuple[Any, int]:
        response = await sample.post("/graphql", query, auth="bearer")
        return response.body["data"], response.statements

    await read()  # signs in
    query_compiler.set_enabled(True)
    try:
        data, statements = await read()
        create_app(
            Settings(compiled_reads=False),
            store_resolver=CachedStoreResolver(frozenset()),
            authenticate=authenticate,
        )
        executed_data, executed_statements = await read()
    finally:
        query_compiler.set_enabled(os.environ.get("VITRINE_COMPILED_READS") != "0")
    assert executed_data == data
    assert executed_statements > statements  # one statement for each level, instead of one for all
