"""Parse combined product filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.scope import Scope
from kernel.text import MAX_FILTER_LENGTH, InvalidValue


def parse_category(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any] | None:
    """Parse `category_id` or CS-Cart's `cid`; `subcats=Y` includes subcategories, and has no effect alone."""
    requested = [parameters[name] for name in ("category_id", "cid") if name in parameters]
    if not requested:
        return None
    # Both parameters are combined with AND, as everywhere.
    references = [reference for reference in requested[0] if reference in requested[-1]]
    if not references:
        raise InvalidValue("no category is both")
    with_subcategories = parameters.get("subcats", [""])[-1:] == ["Y"]
    return {"below_category_id" if with_subcategories else "category_id": references}


SEARCHED = {"pname": "n", "pshort": "s", "pfull": "f", "pkeywords": "k"}
"""CS-Cart's names of the texts that `q` is searched in, and their codes in the GraphQL filter."""


def parse_search(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any] | None:
    """Parse `q`, and in which texts it is searched: `pname=Y` and so on; has no effect without `q`."""
    if "q" not in parameters:
        return None
    words = parameters["q"][-1]
    codes = "".join(code for name, code in SEARCHED.items() if parameters.get(name, [""])[-1].upper() == "Y")
    if codes and len(words) + len(SEARCHED) >= MAX_FILTER_LENGTH:
        raise InvalidValue("the text is too long")
    return {"words_in": f"{codes}:{words}"} if codes else {"search": words}
