"""Read the rows of a file of products, CSV or JSON Lines, one after the other (docs/reference/bulk.md#product-files)."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from kernel.money import parse_cents
from kernel.product_fields import PRODUCT_FIELDS
from kernel.request_bodies import MalformedBody, parse_json_object
from kernel.text import InvalidValue, has_forbidden_characters, repr_value
from server.importers.olist_files import ImportFileError

CSV, JSONL = "csv", "jsonl"
MAX_LINE_BYTES = 2 * 1024 * 1024
_LIST_SEPARATOR = "|"
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row: its line, the values of a product by the domain's names, and what is wrong with them by column.

    `categories` are paths such as `Casa > Cozinha`. `columns` are the names that the file has for values.
    """

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    errors: tuple[tuple[str, str], ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


def read_rows(file: BinaryIO, format_: str) -> Iterator[FileRow]:
    """Yield the rows of a file; raise `ImportFileError`, which names the line, where the rest can't be read."""
    return _csv_rows(file) if format_ == CSV else _jsonl_rows(file)


# --- Values -----------------------------------------------------------------------------------------------------------


def _money(value: object) -> int:
    try:
        return parse_cents(value)
    except InvalidValue as error:
        raise InvalidValue(str(error).removeprefix("amount ")) from error


def _whole(text: str) -> int:
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidValue(f"is {repr_value(text)}; expected a whole number")
    return int(text)


def _flag(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in words:
        raise InvalidValue(f"is {repr_value(text)}; expected 1 or 0")
    return words[text.lower()]


def _list(text: str) -> list[str]:
    return [item.strip() for item in text.split(_LIST_SEPARATOR) if item.strip()]


def _images(text: str) -> list[dict[str, str]]:
    return [{"url": url} for url in _list(text)]


def _parser(name: str) -> Callable[[str], Any]:
    if name in ("is_edp", "free_shipping"):
        return _flag
    return _whole if name == "stock" or name.endswith(("_cents", "_grams", "_quantity")) else str


COLUMNS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "id": ("id", str),
    "vendor_id": ("vendor", str),
    **{name: (name, _parser(name)) for name in PRODUCT_FIELDS},
    "price": ("price_cents", _money),
    "compare_at": ("compare_at_cents", _money),
    "categories": ("categories", _list),
    "images": ("images", _images),
}
"""The columns of a file: the field of a product, and the parser of its text in a CSV file."""


# --- CSV --------------------------------------------------------------------------------------------------------------


def _csv_rows(file: BinaryIO) -> Iterator[FileRow]:
    reader = csv.reader((_decoded(number, line) for number, line in enumerate(file, 1)), strict=True)
    try:
        header = _header(next(reader, []))
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                yield _csv_row(line, header, cells)
            # Values may contain line breaks: the next row starts after the last line of this one.
            line = reader.line_num + 1
    except csv.Error as error:
        raise ImportFileError(f"line {reader.line_num} is not CSV: {error}") from error


def _decoded(number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ImportFileError(f"line {number} is not UTF-8") from error


def _header(cells: Sequence[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    fields = [COLUMNS[name][0] for name in header if name in COLUMNS]
    for name in header:
        if name not in COLUMNS:
            raise ImportFileError(
                f"line 1: the column {repr_value(name)} is unknown; expected any of {', '.join(COLUMNS)}"
            )
        if fields.count(COLUMNS[name][0]) > 1:
            raise ImportFileError(f"line 1: the column {name} sets what another column sets")
    return header


def _csv_row(line: int, header: Sequence[str], cells: Sequence[str]) -> FileRow:
    if len(cells) != len(header):
        return FileRow(line, errors=(("", f"has {len(cells)} values; expected {len(header)}"),))
    values: dict[str, Any] = {}
    errors = []
    for column, cell in zip(header, cells, strict=True):
        name, parse = COLUMNS[column]
        text = cell.strip()
        if not text:
            continue  # what is left out stays as it is
        try:
            if has_forbidden_characters(text):
                raise InvalidValue("has a character that text can't have")
            values[name] = parse(text)
        except InvalidValue as error:
            errors.append((column, str(error)))
    return FileRow(line, values, tuple(errors), {COLUMNS[column][0]: column for column in header})


# --- JSON Lines -------------------------------------------------------------------------------------------------------


def _jsonl_rows(file: BinaryIO) -> Iterator[FileRow]:
    for line in itertools.count(1):
        content = file.readline(MAX_LINE_BYTES + 2)
        if not content:
            return
        if len(content.rstrip(b"\r\n")) > MAX_LINE_BYTES:
            while content and not content.endswith(b"\n"):
                content = file.readline(MAX_LINE_BYTES)
            yield FileRow(line, errors=(("", f"is longer than {MAX_LINE_BYTES} bytes"),))
        elif content.strip():
            yield _jsonl_row(line, content)


def _jsonl_row(line: int, content: bytes) -> FileRow:
    try:
        members = parse_json_object(content)
    except MalformedBody as error:
        return FileRow(line, errors=(("", str(error).replace("the body", "the line")),))
    values: dict[str, Any] = {}
    errors = []
    for column, value in members.items():
        name = COLUMNS[column][0] if column in COLUMNS else ""
        try:
            if not name or name in values:
                raise InvalidValue("is unknown" if not name else "sets what another member sets")
            if column == "categories" and not _is_list_of_texts(value):
                raise InvalidValue(f"is {repr_value(value)}; expected a list of paths such as Casa > Cozinha")
            if column == "images" and not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
                raise InvalidValue(f"is {repr_value(value)}; expected a list of objects with a url")
            values[name] = _money(value) if column != name and value is not None else value
        except InvalidValue as error:
            errors.append((column, str(error)))
    return FileRow(line, values, tuple(errors), {COLUMNS[name][0]: name for name in members if name in COLUMNS})


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
