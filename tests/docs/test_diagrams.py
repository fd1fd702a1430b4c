"""The diagrams in ARCHITECTURE.md show what the code does."""

from __future__ import annotations

import re
import tomllib

from domain.catalog.stock import DEDUCTED, RESERVED, UNRESERVED
from domain.orders.transitions import STOCK_STATES, TRANSITIONS
from tests.harness.programs import ROOT


def diagram(kind: str) -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return re.findall(rf"```mermaid\n{kind}\b(.*?)```", text, re.DOTALL)[0]


def test_the_lifecycle_diagram_has_every_transition():
    edges = set(re.findall(r"^    ([A-Z]) --> ([A-Z])\b", diagram("stateDiagram-v2"), re.MULTILINE))
    assert edges == {(status, target) for status, targets in TRANSITIONS.items() for target in targets}


def test_the_lifecycle_diagram_shows_the_stock_of_every_status():
    shown = re.findall(r"^    ([A-Z]): .*\(stock (\w+)\)$", diagram("stateDiagram-v2"), re.MULTILINE)
    words = {RESERVED: "reserved", DEDUCTED: "deducted", UNRESERVED: "released"}
    assert dict(shown) == {status: words[state] for status, state in STOCK_STATES.items()}


def test_the_layers_diagram_has_the_layers_of_the_import_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(
        contract["layers"] for contract in settings["tool"]["importlinter"]["contracts"] if contract["type"] == "layers"
    )
    assert " --> ".join(layers) in diagram("flowchart TD")
