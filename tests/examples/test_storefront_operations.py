"""The operations of examples/storefront are those of the guide where it has them, and fit the public schema and the generated types."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from graphql import DocumentNode, OperationDefinitionNode, build_schema, parse, print_ast, validate

from server.assets.build import ROOT
from server.example_storefront import PATHS
from tests.docs.storefront_guide import read_guide
from tests.harness.packages import EXAMPLE, run_node

SCHEMA = ROOT / "schema" / "public.graphql"
OPERATIONS = sorted((EXAMPLE.sources / "src" / "operations").glob("*.graphql"))
# What the guide shows in addition: simpler reads, and one document instead of two.
ONLY_IN_THE_GUIDE = {
    "ProductList",
    "Search",
    "BestSelling",
    "TakeWhatIsThere",
    "ChangeLines",
    "EditCart",
    "TrackOrder",
    "PrepareCheckout",
    "CustomerCheckout",
    "SignInAgain",
    "PartlyRefused",
    "RefusedInput",
}
ONLY_IN_THE_EXAMPLE = {
    "UploadFile",
    "Menu",
    "SearchPage",
    "VendorPage",
    "OpenCart",
    "CheckoutPage",
    "ResendConfirmation",
    "AddressBook",
    "DisableTwoFactor",
    "Profile",
    "UpdateProfile",
    "ChangePassword",
    "ChangeEmail",
    "DeleteAccount",
}


def operations_of(document: DocumentNode) -> dict[str, str]:
    """Return the operations of a document, in one form."""
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    return {node.name.value: print_ast(node) for node in operations if node.name is not None}


@pytest.fixture(scope="module")
def documents() -> list[DocumentNode]:
    return [parse(path.read_text(encoding="utf-8")) for path in OPERATIONS]


def test_the_operations_are_valid_for_the_public_schema(documents: list[DocumentNode]) -> None:
    schema = build_schema(SCHEMA.read_text(encoding="utf-8"))
    assert len(documents) == 7
    assert [error.message for document in documents for error in validate(schema, document)] == []


def test_the_guide_shows_the_operations_of_the_example(documents: list[DocumentNode]) -> None:
    example = {name: text for document in documents for name, text in operations_of(document).items()}
    guide = {
        name: text
        for block in read_guide()
        if block.language == "graphql"
        for name, text in operations_of(parse(block.text)).items()
    }
    assert guide.keys() - example.keys() == ONLY_IN_THE_GUIDE
    assert example.keys() - guide.keys() == ONLY_IN_THE_EXAMPLE
    assert {name for name in guide.keys() & example.keys() if guide[name] != example[name]} == set()


def test_every_operation_is_used(documents: list[DocumentNode]) -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (EXAMPLE.sources / "src").rglob("*.ts*")
        if path.name != "generated.ts"
    )
    names = {name for document in documents for name in operations_of(document)}
    assert {name for name in names if not re.search(rf"\b{name}Document\b", sources.replace("import {", ""))} == set()


def test_the_server_knows_the_paths_of_the_example() -> None:
    main = (EXAMPLE.sources / "src" / "main.tsx").read_text(encoding="utf-8")
    patterns = re.findall(r"^  \[/\^(\S+)\$/, ", main, re.MULTILINE)
    paths = {pattern.replace("\\/", "/").replace("(.+)", "{slug:.+}") for pattern in patterns}
    assert paths == {"/", *PATHS}


@pytest.mark.slow(seconds=4)
def test_the_generated_types_are_those_of_the_operations_and_the_program_fits_them(tmp_path: Path) -> None:
    folder = EXAMPLE.open(tmp_path)
    run_node("codegen.mjs", SCHEMA, cwd=folder)
    for name in ("src/generated.ts", "documents.json"):
        committed = (EXAMPLE.sources / name).read_text("utf-8")
        assert (folder / name).read_text("utf-8") == committed, f"npm run generate: {name}"
    options = json.loads((folder / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    assert options["strict"]
    run_node("node_modules/typescript/bin/tsc", "--project", folder, "--preserveSymlinks", cwd=folder)


@pytest.mark.slow(seconds=4)
def test_a_use_of_a_field_that_an_operation_does_not_select_fails_the_type_check(tmp_path: Path) -> None:
    folder = EXAMPLE.open(tmp_path)
    page = folder / "src" / "pages" / "content.tsx"
    page.write_text(page.read_text("utf-8").replace("page.name}", "page.title}"), encoding="utf-8")
    with pytest.raises(AssertionError, match="Property 'title' does not exist"):
        run_node("node_modules/typescript/bin/tsc", "--project", folder, "--preserveSymlinks", cwd=folder)


def test_the_scalars_are_those_of_the_guide() -> None:
    guide = (ROOT / "docs" / "building-a-storefront.md").read_text(encoding="utf-8")
    documented = re.search(r"^ *scalars:\n((?: +\w+: .*\n)+)", guide, re.MULTILINE)
    configured = re.search(
        r"scalars: \{\n(.*?)\n    \}", (EXAMPLE.sources / "codegen.mjs").read_text("utf-8"), re.DOTALL
    )
    assert documented is not None
    assert configured is not None
    pairs = re.compile(r"(\w+): \"?([\w<>, ]+?)\"?,?$", re.MULTILINE)
    assert dict(pairs.findall(configured[1])) == dict(pairs.findall(documented[1]))


def test_the_example_needs_nothing_of_the_repository(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE.sources / "src", tmp_path / "src")
    imports = {
        name
        for path in (tmp_path / "src").rglob("*.ts*")
        for name in re.findall(r"""(?:from|import) ?\(?["']([^"']+)["']""", path.read_text("utf-8"))
    }
    package = json.loads((EXAMPLE.sources / "package.json").read_text("utf-8"))
    libraries = {re.sub(r"^(@[^/]+/[^/]+|[^/]+).*", r"\1", name) for name in imports if not name.startswith(".")}
    # The type of typed documents comes with the client.
    assert libraries - {"@graphql-typed-document-node/core"} == set(package["dependencies"])
    assert not [name for name in imports if name.startswith("../../")]
