"""The back office is derived from the schema: its description, its types, and the program that uses both."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from graphql import build_schema, parse, validate

from domain.carts.messages import ERROR_TEXTS
from server.assets.build import BACK_OFFICE as SOURCES
from server.assets.build import SCHEMA
from tests.harness.packages import BACK_OFFICE, EXAMPLE, run_node
from tests.harness.programs import ROOT

TSC = "node_modules/typescript/bin/tsc"


def describe(folder: Path, schema: Path) -> dict[str, Any]:
    target = folder / "src" / "entities.json"
    run_node("describe.mjs", schema, target, cwd=folder)
    described: dict[str, Any] = json.loads(target.read_text("utf-8"))
    return described


@pytest.mark.slow(seconds=15)
def test_the_program_fits_the_types_of_its_operations(tmp_path: Path) -> None:
    folder = BACK_OFFICE.open(tmp_path)
    describe(folder, SCHEMA)
    options = json.loads((folder / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    assert options["strict"]
    run_node(TSC, "--project", folder, "--preserveSymlinks", cwd=folder)


@pytest.mark.slow(seconds=4)
def test_the_generated_types_are_those_of_the_operations(tmp_path: Path) -> None:
    folder = EXAMPLE.open(tmp_path)
    run_node("codegen.mjs", SCHEMA, folder / "generated.ts", SOURCES / "src" / "operations", cwd=folder)
    assert (folder / "generated.ts").read_text("utf-8") == (SOURCES / "src" / "generated.ts").read_text("utf-8")


def test_the_operations_are_valid_for_the_public_schema() -> None:
    schema = build_schema(SCHEMA.read_text("utf-8"))
    operations = sorted((SOURCES / "src" / "operations").glob("*.graphql"))
    assert operations
    errors = [error.message for path in operations for error in validate(schema, parse(path.read_text("utf-8")))]
    assert errors == []


def test_no_type_is_any() -> None:
    sources = [path for path in (SOURCES / "src").rglob("*.ts*") if path.name != "generated.ts"]
    assert [path.name for path in sources if re.search(r"(?:[:<,|(]|\bas)\s*any\b", path.read_text("utf-8"))] == []


@pytest.mark.slow(seconds=2)
def test_a_new_entity_of_the_schema_has_a_list_and_a_form(tmp_path: Path) -> None:
    folder = BACK_OFFICE.open(tmp_path)
    schema = tmp_path / "schema.graphql"
    addition = """
        type Gadget { id: ID! name: String! color: Color price_cents: Int! maker: Vendor parts: [Part!]! updated_at: DateTime! }
        type Part { label: String! amount: Int! }
        enum Color { "Red." RED }
        type GadgetPage { items: [Gadget!]! total: Int! }
        input GadgetFilter { id: [ID!] search: String color: [Color!] }
        enum GadgetSort { NAME_ASC NAME_DESC }
        input GadgetInput { name: String color: Color maker_id: ID parts: [PartInput!] secret: String }
        input PartInput { label: String amount: Int }
        extend type Query {
            gadget(id: ID!): Gadget
            gadget_page(page: Int! = 1, per_page: Int! = 20, filter: GadgetFilter, sort: GadgetSort): GadgetPage
        }
        extend type Mutation {
            gadget_create(input: GadgetInput!): Gadget
            gadget_update(id: ID!, input: GadgetInput!): Gadget
            gadget_repair(gadget_id: ID!, token: String, cost_cents: Int!, note: String! = "", color: Color): Gadget
            gadget_parts_count: Int
        }
    """
    schema.write_text(SCHEMA.read_text("utf-8") + addition, encoding="utf-8")
    described = describe(folder, schema)
    gadget = described["entities"]["gadget"]
    assert gadget["label"] == "name"
    assert gadget["sorts"] == ["NAME"]
    assert {field["name"]: field["kind"] for field in gadget["fields"]} == {
        "id": "id",
        "name": "text",
        "color": "enum",
        "price_cents": "integer",
        "maker": "record",
        "parts": "object",
        "updated_at": "time",
    }
    # A form reads the value of each field of the input where the record has it; a secret can't be read.
    written = {field["name"]: field.get("from") for field in gadget["update"]["fields"]}
    assert written == {"name": "name", "color": "color", "maker_id": "maker.id", "parts": "parts", "secret": None}
    maker = next(field for field in gadget["update"]["fields"] if field["name"] == "maker_id")
    assert (maker["kind"], maker["entity"], maker["label"]) == ("record", "vendor", "name")
    # What else can be done with one record; a colour that it has is the value at first.
    [action] = gadget["actions"]
    assert (action["name"], action["target"], action["targetType"]) == ("gadget_repair", "gadget_id", "ID!")
    assert [(field["name"], field["type"], field.get("default"), field.get("from")) for field in action["fields"]] == [
        ("cost_cents", "Int!", None, None), ("note", "String!", "", None), ("color", "Color", None, "color"),
    ]  # fmt: skip
    assert described["enums"]["Color"] == [{"id": "RED", "name": "Red"}]


@pytest.mark.slow(seconds=3)
def test_what_is_asked_of_every_entity_is_valid_for_the_schema(tmp_path: Path) -> None:
    folder = BACK_OFFICE.open(tmp_path)
    count = len(describe(folder, SCHEMA)["entities"])
    program = folder / "documents.mjs"
    program.write_bytes(Path(__file__).with_name("documents.mjs").read_bytes())
    assert run_node(program, SCHEMA, cwd=folder).splitlines() == [f"{count} entities"]


@pytest.mark.slow(seconds=2)
def test_an_import_reads_what_an_export_wrote(tmp_path: Path) -> None:
    folder = BACK_OFFICE.open(tmp_path)
    program = folder / "cells.mjs"
    program.write_bytes(Path(__file__).with_name("cells.mjs").read_bytes())
    assert run_node(program, cwd=folder).splitlines() == []


@pytest.mark.slow(seconds=2)
def test_amounts_and_times_are_read_as_they_are_typed(tmp_path: Path) -> None:
    folder = BACK_OFFICE.open(tmp_path)
    program = folder / "format.mjs"
    program.write_bytes(Path(__file__).with_name("format.mjs").read_bytes())
    assert run_node(program, cwd=folder).splitlines() == []


@pytest.mark.slow(seconds=2)
def test_every_field_choice_and_action_has_a_portuguese_name(tmp_path: Path) -> None:
    described = describe(BACK_OFFICE.open(tmp_path), SCHEMA)
    fields: set[str] = set()
    enums: set[str] = set()

    def collect(field: dict[str, Any]) -> None:
        fields.add(field["name"])
        enums.update({field["enum"]} if "enum" in field else set())
        for member in field.get("members", []):
            collect(member)

    actions = [action for entity in described["entities"].values() for action in entity["actions"]]
    writes = [
        entity[name] for entity in described["entities"].values() for name in ("create", "update") if name in entity
    ]
    for entity in [*described["entities"].values(), *actions, *writes]:
        for field in [*entity["fields"], *entity.get("filters", []), *entity.get("extra", [])]:
            collect(field)
    texts = {
        name: (SOURCES / "src" / "texts" / f"{name}.ts").read_text("utf-8").replace("\\`", "`")
        for name in ("fields", "members", "actions")
    }
    choices = {choice["name"] for name in enums for choice in described["enums"][name]}
    named = {
        "fields": {name for name in fields if re.search(rf"[|\n`]{name}:", texts["fields"])},
        "members": {name for name in choices if re.search(rf"[|\n`]{re.escape(name)}:", texts["members"])},
        "actions": {action["name"] for action in actions if f"\n  {action['name']}:" in texts["actions"]},
    }
    for file, names in (("fields", fields), ("members", choices), ("actions", {action["name"] for action in actions})):
        unnamed = sorted(names - named[file])
        assert not unnamed, f"backoffice/src/texts/{file}.ts has no Portuguese names of {', '.join(unnamed)}"


def test_every_action_of_the_audit_log_has_a_text() -> None:
    actions = audited_actions()
    assert {"order.restored", "store_host.assigned", "app.installed"} <= actions
    texts = (SOURCES / "src" / "pages" / "audit" / "texts.ts").read_text("utf-8")
    entities = (SOURCES / "src" / "texts" / "entities.ts").read_text("utf-8")
    subjects, verbs = ({action.split(".")[part] for action in actions} for part in (0, 1))
    keys = {f"audit.of.{each}" for each in subjects if not re.search(rf"[|\n`]{each}:", entities)}
    lacking = sorted(key for key in keys | {f"audit.{verb}" for verb in verbs} if f'"{key}": ' not in texts)
    assert not lacking, f"backoffice/src/pages/audit/texts.ts lacks {', '.join(lacking)}"


def audited_actions() -> set[str]:
    """Return the actions that the program names (`order.restored`), without those that `domain.records` derives from an entity."""
    actions: set[str] = set()
    for folder in ("auth", "domain", "server"):
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text("utf-8"))
            takers = {"audit.record"} | {
                node.name
                for node in ast.walk(tree)
                if isinstance(node, ast.AsyncFunctionDef) and "action" in {each.arg for each in node.args.args}
            }
            for node in ast.walk(tree):
                is_call = isinstance(node, ast.Call) and ast.unparse(node.func) in takers
                if is_call or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "action"):
                    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
                    actions |= {
                        each for each in texts if isinstance(each, str) and re.fullmatch(r"[a-z_]+\.[a-z_]+", each)
                    }
    return actions


def test_every_refusal_has_a_portuguese_text() -> None:
    texts = (SOURCES / "src" / "texts" / "errors.ts").read_text("utf-8")
    endings = re.search(r"_\(([a-z|]+)\)\$", texts)
    assert endings
    named = set(re.findall(r"^  (\w+): ", texts.partition("ENGLISH")[0], re.MULTILINE))
    refusals = refusal_codes() | set(ERROR_TEXTS)
    assert len(refusals) > 150
    lacking = sorted(each for each in refusals - named if not re.search(rf"_(?:{endings[1]})$", each))
    assert not lacking, f"backoffice/src/texts/errors.ts lacks {', '.join(lacking)}"


def refusal_codes() -> set[str]:
    """Return the reasons and field codes of the errors that the program raises."""
    calls = (
        node
        for folder in ("auth", "domain", "kernel", "resolvers", "schema")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and re.fullmatch(r"[A-Z]\w+", ast.unparse(node.func))
    )
    values = (each.value for call in calls for each in call.keywords if each.arg in {"reason", "code"})
    return {
        each.value
        for each in values
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and re.fullmatch(r"[a-z_]+", each.value)
    }


def test_every_entity_has_a_portuguese_name_and_a_place_in_the_menu() -> None:
    names = re.findall(r"^  (\w+)_page\(", SCHEMA.read_text("utf-8"), re.MULTILINE)
    assert len(names) > 45
    texts = (SOURCES / "src" / "texts" / "entities.ts").read_text("utf-8")
    order = (SOURCES / "src" / "entities" / "order.ts").read_text("utf-8").partition("MENU")[2]
    unnamed = [name for name in names if not re.search(rf"[|\n`]{name}:", texts)]
    assert not unnamed, f"backoffice/src/texts/entities.ts has no Portuguese names of {', '.join(unnamed)}"
    without_place = [name for name in names if f'"{name}"' not in order]
    assert not without_place, f"MENU of backoffice/src/entities/order.ts lacks {', '.join(without_place)}"
