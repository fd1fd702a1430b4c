"""Every setting takes effect."""

from __future__ import annotations

import ast
import os
from dataclasses import fields
from typing import Any

from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
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
