"""Tags: words by which a store lists products together. A product has each of its tags once, in lower case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernel.fields import FieldErrors, text
from kernel.scope import Scope
from kernel.text import InvalidValue
from models.reading.queries import Condition, has_any_id
from models.rows import replace_rows

MAX_TAGS, MAX_LENGTH = 50, 64
_read_text = text(MAX_LENGTH, blank=False)


def normalize_tag(tag: str) -> str:
    """Return a tag as it is stored and compared: in lower case, with single blanks."""
    return " ".join(tag.split()).lower()


def read_tags(values: Iterable[object], errors: FieldErrors) -> list[str]:
    """Return the tags of an input in its order, each once, and add the error of one that can't be a tag."""
    tags: dict[str, None] = {}
    for value in values:
        try:
            tags[str(_read_text(normalize_tag(value) if isinstance(value, str) else value))] = None
        except InvalidValue as error:
            errors["tags"] = ("tags_invalid", f"tags: one {error}")
    return list(tags)


async def set_tags(scope: Scope, tags: Mapping[int, Iterable[str]]) -> set[int]:
    """Replace the tags of products, by the ids of these, in one statement; return the products that had others."""
    rows = [{"product_id": product, "tag": tag} for product, of_product in tags.items() for tag in of_product]
    return await replace_rows(scope, "product_tags", "product_id", list(tags), rows, key="tag")


def has_tag(value: Any) -> Condition:
    """Match products with any of the tags."""
    wanted = [normalize_tag(tag) for tag in (value if isinstance(value, list) else [value])]
    return has_any_id("t.id", "product_tags l", "l.product_id", Condition("l.tag = ANY({}::text[])", (wanted,)))
