"""Reduce the body of an update to what it changes (docs/reference/legacy.md#records-sent-back).

Programs read a record, change a field and send the whole record back. What is unchanged must change nothing: neither replace the lines
of an order, nor be refused because it can't be changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rest_facade.legacy.resource import Record, Resource


def changes_of(resource: Resource, body: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """Return the members of the body that differ from the record, and those coupled with them."""
    changed = {
        name for name, value in body.items() if name not in record or canonical(value) != canonical(record[name])
    }
    for names in resource.coupled:
        if changed & set(names):
            changed |= set(names)
    return {name: value for name, value in body.items() if name in changed}


def complete_lines(lines: Any, record: Record) -> Any:
    """Return an order's lines with what the body doesn't say about the ones the order has: their amount, price, extra and options."""
    current = {line["item_id"]: line for line in record.get("products", {}).values()}
    if isinstance(lines, Mapping):
        return {key: _complete_line(line, key, current) for key, line in lines.items()}
    return [_complete_line(line, "", current) for line in lines] if isinstance(lines, list) else lines


def _complete_line(line: Any, key: str, current: Mapping[str, Record]) -> Any:
    if not isinstance(line, Mapping):
        return line
    existing = current.get(str(line.get("item_id", key)))
    if existing is None:
        existing = _only_line_of(str(line.get("product_id", key)), current.values())
    if existing is None or str(line.get("product_id", existing["product_id"])) != existing["product_id"]:
        return line
    kept = {name: existing[name] for name in ("product_id", "amount", "extra") if line.get(name) in (None, "")}
    if "product_options" in line:
        kept.pop("extra", None)
    return {**line, **kept}


def _only_line_of(product_id: str, lines: Iterable[Record]) -> Record | None:
    matching = [line for line in lines if line["product_id"] == product_id]
    return matching[0] if len(matching) == 1 else None


def canonical(value: Any) -> Any:
    """Return a value in which numbers equal their texts, and PHP's empty array the empty object."""
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in value.items()} or []
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
