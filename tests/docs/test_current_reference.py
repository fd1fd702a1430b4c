"""The lists of docs/reference/current.md have the filters and sorts of the OpenAPI document."""

from __future__ import annotations

import re

import pytest

from server.openapi.documents import documents
from tests.harness.programs import ROOT

PAGE = (ROOT / "docs/reference/current.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| Collection | Filters | `sort_by` |\n")[2].partition("\n\n")[0]
# Customers are documented as users.
ROWS = [row for row in re.findall(r"^\| ([a-z-]+) \| (.+?) \| (.+?) \|$", TABLE, re.MULTILINE) if row[0] != "customers"]
OF_EVERY_LIST = {"page", "per_page", "sort_by", "sort_order"}


@pytest.mark.parametrize("name, filters, sorts", ROWS, ids=[row[0] for row in ROWS])
def test_the_page_names_the_filters_and_sorts_of_a_list(name: str, filters: str, sorts: str) -> None:
    parameters = documents()["current"]["paths"][f"/api/v1/admin/{name}"]["get"]["parameters"]
    query = {parameter["name"]: parameter["schema"] for parameter in parameters if parameter.get("in") == "query"}
    assert set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", filters))) == query.keys() - OF_EVERY_LIST
    names = re.findall(r"`(\w+)`", sorts)
    assert sorted(names) == sorted(query["sort_by"]["enum"])
    assert names[0] == query["sort_by"]["enum"][0]
