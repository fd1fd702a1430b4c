"""docs/reference/legacy.md names every field of every entity in its section."""

from __future__ import annotations

import re

import pytest

from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from tests.harness.programs import ROOT

PAGE = (ROOT / "docs/reference/legacy.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
HEADINGS = {
    "langvars": "Language variables",
    "productBoxes": "Product boxes",
    "productBoxesDescriptions": "Product boxes",
}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.path)
def test_the_section_of_an_entity_names_its_fields(resource: Resource) -> None:
    section = SECTIONS[HEADINGS.get(resource.path, resource.path.replace("_", " ").capitalize())]
    names = {field.name for field in resource.fields if not re.match(r"[bs]_", field.name)}
    assert {name for name in names if not re.search(rf"\b{re.escape(name)}\b", section)} == set()
