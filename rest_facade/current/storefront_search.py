"""Parse the parameters of the storefront's search: those of the list of products, `q`, and the choices of facets.

Without `q` a choice is needed, or a category: then it browses.

below_category_id, vendor_id        ids, separated by commas
below_category_slug, vendor_slug    slugs, separated by commas
include_descendants                 whether products below these categories match, true by default
price_from, price_to                cents
rating_from                         1 to 5
is_available                        true or false
features                            <feature id>:<variant id>,<variant id>;<feature id>:…
tag                                 tags, separated by commas
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kernel.errors import MalformedRequest
from kernel.scope import Store
from kernel.text import MAX_FILTER_LENGTH, repr_value
from rest_facade.list_parameters import ListDefinition, Query

_INTEGER = re.compile(r"[0-9]{1,18}")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_INTEGER_SCHEMA = {"type": "integer", "minimum": 0}
CHOICE_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "q": {
        "type": "string",
        "maxLength": MAX_FILTER_LENGTH,
        "description": "The words to look for; may be left out with a choice or a category.",
    },
    "below_category_id": {"type": "string", "description": "Ids of categories, separated by commas."},
    "below_category_slug": {"type": "string", "description": "Slugs of categories, separated by commas."},
    "include_descendants": {
        "type": "string",
        "enum": list(_BOOLEANS),
        "description": "Whether products that are only below the categories match too; true by default.",
    },
    "vendor_id": {"type": "string", "description": "Ids of vendors, separated by commas."},
    "vendor_slug": {"type": "string", "description": "Slugs of vendors, separated by commas."},
    "price_from": _INTEGER_SCHEMA,
    "price_to": _INTEGER_SCHEMA,
    "rating_from": {"type": "integer", "minimum": 1, "maximum": 5},
    "is_available": {"type": "string", "enum": list(_BOOLEANS)},
    "features": {"type": "string", "description": "`<feature id>:<variant id>,<variant id>;<feature id>:…`"},
    "tag": {"type": "string", "description": "Tags, separated by commas."},
}


def search_definition(products: ListDefinition) -> ListDefinition:
    """Return the list of products as a search: without its own text filter, and sorted by rating too."""
    filters = {name: parameter for name, parameter in products.filters.items() if name != "search"}
    return replace(products, filters=filters, sorts={**products.sorts, "rating": "RATING"})


def search_variables(definition: ListDefinition, query: Query, store: Store) -> dict[str, Any]:
    """Return the variables of the search operation; raises `MalformedRequest` for the first invalid parameter."""
    chosen = {name: value for name in _CHOICES if (value := query.get(name, "").strip())}
    is_browsed = "q" not in query and bool(
        chosen.keys() - {"include_descendants"} or query.get("category_id", "").strip()
    )
    text = None if is_browsed else _words(query.get("q", "").strip())
    variables = definition.variables(query, store)
    variables["filter"] |= {name: _CHOICES[name](name, value) for name, value in chosen.items()}
    return {"query": text, **variables}


def _words(text: str) -> str:
    if not text:
        raise MalformedRequest("invalid q", detail="q is blank; expected the words to look for")
    if len(text) > MAX_FILTER_LENGTH:
        detail = f"q is {len(text)} characters long; expected at most {MAX_FILTER_LENGTH}"
        raise MalformedRequest("invalid q", detail=detail)
    return text


def _items(_name: str, text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _cents(name: str, text: str) -> int:
    if not text.isascii() or not _INTEGER.fullmatch(text):
        raise _invalid(name, text, "a whole number")
    return int(text)


def _rating(name: str, text: str) -> int:
    if text not in {"1", "2", "3", "4", "5"}:
        raise _invalid(name, text, "1 to 5")
    return int(text)


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise _invalid(name, text, "true or false")
    return _BOOLEANS[text.lower()]


def _features(name: str, text: str) -> list[dict[str, Any]]:
    choices = []
    for choice in filter(None, text.split(";")):
        feature, separator, variants = choice.partition(":")
        if not separator:
            raise _invalid(name, text, "<feature id>:<variant id>,<variant id>;<feature id>:…")
        choices.append({"feature_id": feature.strip(), "variant_ids": _items(name, variants)})
    return choices


_CHOICES: Mapping[str, Callable[[str, str], Any]] = {
    "below_category_id": _items,
    "below_category_slug": _items,
    "include_descendants": _boolean,
    "vendor_id": _items,
    "vendor_slug": _items,
    "price_from": _cents,
    "price_to": _cents,
    "rating_from": _rating,
    "is_available": _boolean,
    "features": _features,
    "tag": _items,
}


def _invalid(name: str, text: str, expected: str) -> MalformedRequest:
    return MalformedRequest(f"invalid {name}", detail=f"{name} is {repr_value(text)}; expected {expected}")
