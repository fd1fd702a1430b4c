"""The usual generators produce clients from the OpenAPI documents: complete, without warnings, and usable.

The generators for TypeScript are npm packages, which `make test` installs (tests/harness/packages.py).
"""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.openapi.documents import documents, serialize
from tests.harness.packages import GENERATORS, run, run_node
from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.slow(seconds=9)

NAMES = tuple(documents())
_PYTHON_CONFIG = "post_hooks: []\ncontent_type_overrides:\n  application/jsonl: application/octet-stream\n"


def operation_ids(name: str) -> set[str]:
    """Return the ids of a document's operations."""
    return {
        operation["operationId"] for methods in documents()[name]["paths"].values() for operation in methods.values()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the documents."""
    for name, document in documents().items():
        (tmp_path / f"{name}.json").write_text(serialize(document), encoding="utf-8")
    return tmp_path


def without_case(names: Iterable[str]) -> set[str]:
    """Return the names in lower case without underscores: generators write them in the style of their language."""
    return {name.replace("_", "").lower() for name in names}


def test_typescript_clients_have_every_operation_and_compile(folder: Path) -> None:
    GENERATORS.open(folder)
    printed = run_node("generate.mjs", folder, *NAMES, cwd=folder)
    assert "warn" not in printed.lower()
    run_node("node_modules/typescript/bin/tsc", "--project", folder, cwd=folder)
    for name in NAMES:
        # openapi-typescript
        types = (folder / f"{name}.types.ts").read_text(encoding="utf-8").partition("export interface operations {")[2]
        assert set(re.findall(r"^    (\w+): \{$", types, re.MULTILINE)) == operation_ids(name)
        # hey-api
        functions = (folder / f"{name}-client" / "sdk.gen.ts").read_text(encoding="utf-8")
        exported = re.findall(r"^export const (\w+) = ", functions, re.MULTILINE)
        assert without_case(exported) == without_case(operation_ids(name))
        # orval, which exports functions for the addresses too
        functions = (folder / f"{name}-orval" / "client.ts").read_text(encoding="utf-8")
        exported = re.findall(r"^export const (\w+) = async ", functions, re.MULTILINE)
        assert without_case(exported) == without_case(operation_ids(name))


@pytest.fixture
def python_clients(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Generate and import the Python client of each document."""
    pytest.importorskip("openapi_python_client")
    (folder / "config.yaml").write_text(_PYTHON_CONFIG, encoding="utf-8")
    for name in NAMES:
        target = folder / f"{name}_client"
        paths = ("--path", f"{name}.json", "--output-path", target, "--config", "config.yaml")
        generate = (sys.executable, "-m", "openapi_python_client", "generate", *paths)
        # Every operation that is left out is a warning.
        run(*generate, "--meta", "none", "--fail-on-warning", cwd=folder)
    monkeypatch.syspath_prepend(str(folder))
    yield {name: importlib.import_module(f"{name}_client") for name in NAMES}
    for module in [
        module for module in sys.modules if module.partition(".")[0] in {f"{name}_client" for name in NAMES}
    ]:
        del sys.modules[module]


async def test_python_clients_have_every_operation_and_read_responses(
    python_clients: dict[str, Any], sample: SampleStore
) -> None:
    for name, package in python_clients.items():
        modules = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        for module in modules:
            importlib.import_module(module)
        operations = [module.rpartition(".")[2] for module in modules if module.count(".") == 3]
        assert without_case(operations) == without_case(operation_ids(name))

    legacy = python_clients["legacy"]
    scheme, _, credential = sample.owner.basic.partition(" ")
    client = legacy.AuthenticatedClient(
        base_url=str(sample.http.make_url("")),
        token=credential,
        prefix=scheme,
        headers={"X-Tenant-ID": str(sample.store.public_id)},
    )
    orders = importlib.import_module("legacy_client.api.orders.get_orders_by_id")
    order = await asyncio.to_thread(orders.sync, str(sample.order.number), client=client)
    expected = (await sample.get(f"/api/orders/{sample.order.number}")).body
    assert order.to_dict() == expected
    products = importlib.import_module("legacy_client.api.products.get_products")
    page = await asyncio.to_thread(products.sync, client=client)
    assert [product.to_dict() for product in page.products] == (await sample.get("/api/products")).body["products"]
