"""Read the records of a file, CSV or JSON Lines, one after the other (docs/reference/bulk.md#files-of-records).

What a file may have is a `RecordFormat`. In CSV, rows that follow each other with the same key are one record: the further rows add to
its lists (an order's lines, a customer's addresses).
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO

from kernel.request_bodies import MalformedBody, parse_json_object
from kernel.text import InvalidValue, has_forbidden_characters, repr_value
from server.importers.olist_files import ImportFileError

CSV, JSONL = "csv", "jsonl"
MAX_LINE_BYTES = 2 * 1024 * 1024
MAX_JOINED = 1_000
# A value may have as many characters as in JSON Lines: the module's default, 131,072, is less than a description may have.
csv.field_size_limit(MAX_LINE_BYTES)


def _same(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: the field that it sets, the parser of its text in CSV, and the one of its value in JSON Lines."""

    field: str
    parse: Callable[[str], Any] = str
    read: Callable[[object], Any] = _same


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns of a part of a record, such as an address.

    In CSV their names have a prefix (`address_city`); in JSON Lines they are the members of the object `name`, or of those in the list.
    """

    name: str
    prefix: str
    columns: dict[str, Column]
    is_list: bool = False


@dataclass(frozen=True)
class RecordFormat:
    """The columns of a kind of records. Rows of CSV with the same value in the column `key` are one record; empty: each row is one."""

    columns: dict[str, Column]
    parts: tuple[ColumnGroup, ...] = ()
    key: str = ""

    @cached_property
    def csv_columns(self) -> Mapping[str, tuple[ColumnGroup | None, Column]]:
        """Return the columns of CSV by their names."""
        own: dict[str, tuple[ColumnGroup | None, Column]] = {
            name: (None, column) for name, column in self.columns.items()
        }
        for part in self.parts:
            own |= {part.prefix + name: (part, column) for name, column in part.columns.items()}
        return own

    @cached_property
    def csv_names(self) -> Mapping[str, str]:
        """Return the columns of CSV by field, `<part>.<field>` for those of parts; of two for a field the first."""
        names: dict[str, str] = {}
        for name, (part, column) in self.csv_columns.items():
            names.setdefault(f"{part.name}.{column.field}" if part else column.field, name)
        return names

    @cached_property
    def json_names(self) -> Mapping[str, str]:
        """Return the members of JSON Lines by field, `<part>[].<member>` for those of lists."""
        names: dict[str, str] = {column.field: name for name, column in reversed(self.columns.items())}
        for part in self.parts:
            label = f"{part.name}[]" if part.is_list else part.name
            names |= {
                f"{part.name}.{column.field}": f"{label}.{name}" for name, column in reversed(part.columns.items())
            }
        return names


@dataclass(frozen=True, slots=True)
class LineError:
    """What is wrong in a line of the file; `column` is empty when it is the line as a whole."""

    line: int
    column: str
    message: str


@dataclass(slots=True)
class FileRow:
    """A record: the line on which it begins, its values by the domain's names, and what is wrong with them.

    `columns` are the names that the file has for fields, with `<part>.` before those of parts; `item_lines` the lines of the entries of its
    list.
    """

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    errors: list[LineError] = field(default_factory=list)
    columns: Mapping[str, str] = field(default_factory=dict)
    item_lines: list[int] = field(default_factory=list)

    def error(self, name: str, message: str, item: int | None = None) -> LineError:
        """Return an error of a field, `<part>.<field>` of a part, of the entry `item` of a list, as one of the file's column."""
        column = self.columns.get(name, name)
        if item is None:
            return LineError(self.line, column, message)
        column = column.replace("[]", f"[{item}]")
        return LineError(self.item_lines[item] if item < len(self.item_lines) else self.line, column, message)


def read_rows(file: BinaryIO, format_: str, record_format: RecordFormat) -> Iterator[FileRow]:
    """Yield the records of a file; raise `ImportFileError`, which names the line, where the rest can't be read."""
    return _csv_rows(file, record_format) if format_ == CSV else _jsonl_rows(file, record_format)


# --- CSV --------------------------------------------------------------------------------------------------------------


def _csv_rows(file: BinaryIO, record_format: RecordFormat) -> Iterator[FileRow]:
    reader = csv.reader((_decoded(number, line) for number, line in enumerate(_csv_lines(file), 1)), strict=True)
    try:
        header = _header(next(reader, []), record_format)
        yield from _joined(_lines(reader), header, record_format)
    except csv.Error as error:
        raise ImportFileError(f"line {reader.line_num} is not CSV: {error}") from error


def _csv_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines, of bounded length: what is no text may have no end of a line."""
    return iter(lambda: file.readline(MAX_LINE_BYTES + 2), b"")


def _lines(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the lines on which they begin: values may contain line breaks."""
    line = reader.line_num + 1
    for cells in reader:
        if cells:
            yield line, [cell.strip() for cell in cells]
        line = reader.line_num + 1


def _decoded(number: int, line: bytes) -> str:
    if len(line.rstrip(b"\r\n")) > MAX_LINE_BYTES:
        raise ImportFileError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ImportFileError(f"line {number} is not UTF-8") from error


def _header(cells: Sequence[str], record_format: RecordFormat) -> list[str]:
    known = record_format.csv_columns
    header = [cell.strip() for cell in cells]
    seen: set[tuple[str, str]] = set()
    for name in header:
        if name not in known:
            raise ImportFileError(
                f"line 1: the column {repr_value(name)} is unknown; expected any of {', '.join(known)}"
            )
        part, column = known[name]
        target = (part.name if part else "", column.field)
        if target in seen:
            raise ImportFileError(f"line 1: the column {name} sets what another column sets")
        seen.add(target)
    return header


def _joined(
    lines: Iterator[tuple[int, list[str]]], header: Sequence[str], record_format: RecordFormat
) -> Iterator[FileRow]:
    """Yield a record for each row, or for rows that follow each other with the same key."""
    key = header.index(record_format.key) if record_format.key in header else None
    reader = _CsvRecords(header, record_format)
    if key is None:
        for line, cells in lines:
            yield reader.record([(line, cells)])
        return
    for value, group in itertools.groupby(lines, lambda row: row[1][key] if key < len(row[1]) else ""):
        if not value:
            for row in group:
                yield reader.record([row])
            continue
        rows = list(itertools.islice(group, MAX_JOINED + 1))
        record = reader.record(rows[:MAX_JOINED])
        if len(rows) > MAX_JOINED:
            record.errors.append(LineError(rows[-1][0], record_format.key, f"is on more than {MAX_JOINED} lines"))
        yield record


class _CsvRecords:
    """Make records of the rows of a file with this header."""

    def __init__(self, header: Sequence[str], record_format: RecordFormat) -> None:
        self._columns = [(name, *record_format.csv_columns[name]) for name in header]
        self._names = {
            **record_format.csv_names,
            **{f"{part.name}.{column.field}" if part else column.field: name for name, part, column in self._columns},
        }

    def record(self, rows: Sequence[tuple[int, list[str]]]) -> FileRow:
        """Return the record of one or several rows: the first one's, and the lists of all."""
        first_line, first = rows[0]
        record = FileRow(first_line, columns=self._names)
        expected = len(self._columns)
        for line, cells in rows:
            if len(cells) != expected:
                record.errors.append(LineError(line, "", f"has {len(cells)} values; expected {expected}"))
        if record.errors:
            return record
        for line, cells in rows:
            items: dict[str, dict[str, Any]] = {}
            for (name, part, column), text, first_text in zip(self._columns, cells, first, strict=True):
                is_item = part is not None and part.is_list
                if not text or (cells is not first and not is_item and text == first_text):
                    continue  # what is left out stays as it is
                try:
                    if cells is not first and not is_item:
                        raise InvalidValue(f"is {repr_value(text)}, but {repr_value(first_text)} on line {first_line}")
                    if has_forbidden_characters(text):
                        raise InvalidValue("has a character that text can't have")
                    _place(record.values, items, part)[column.field] = column.parse(text)
                except InvalidValue as error:
                    record.errors.append(LineError(line, name, str(error)))
            for name, item in items.items():
                record.values.setdefault(name, []).append(item)
                record.item_lines.append(line)
        return record


def _place(values: dict[str, Any], items: dict[str, dict[str, Any]], part: ColumnGroup | None) -> dict[str, Any]:
    """Return the mapping that a column's value belongs to."""
    if part is None:
        return values
    place: dict[str, Any] = (items if part.is_list else values).setdefault(part.name, {})
    return place


# --- JSON Lines -------------------------------------------------------------------------------------------------------


def _jsonl_rows(file: BinaryIO, record_format: RecordFormat) -> Iterator[FileRow]:
    for line in itertools.count(1):
        content = file.readline(MAX_LINE_BYTES + 2)
        if not content:
            return
        if len(content.rstrip(b"\r\n")) > MAX_LINE_BYTES:
            while content and not content.endswith(b"\n"):
                content = file.readline(MAX_LINE_BYTES)
            yield FileRow(line, errors=[LineError(line, "", f"is longer than {MAX_LINE_BYTES} bytes")])
        elif content.strip():
            yield _jsonl_row(line, content, record_format)


def _jsonl_row(line: int, content: bytes, record_format: RecordFormat) -> FileRow:
    record = FileRow(line)
    try:
        members = parse_json_object(content)
    except MalformedBody as error:
        record.errors.append(LineError(line, "", str(error).replace("the body", "the line")))
        return record
    parts = {part.name: part for part in record_format.parts}
    names = dict(record_format.json_names)
    own = {name: value for name, value in members.items() if name not in parts}
    record.values = _members(record, own, record_format.columns, "", "", names)
    for name, part in parts.items():
        if members.get(name) is None:
            continue
        entries = members[name] if part.is_list else [members[name]]
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            expected = "a list of objects" if part.is_list else "an object"
            record.errors.append(LineError(line, name, f"is {repr_value(members[name])}; expected {expected}"))
            continue
        label = f"{name}[]" if part.is_list else name
        read = [
            _members(record, entry, part.columns, f"{name}.", label.replace("[]", f"[{place}]") + ".", names, label)
            for place, entry in enumerate(entries)
        ]
        record.values[name] = read if part.is_list else read[0]
    record.columns = names
    return record


def _members(
    record: FileRow,
    members: Mapping[str, Any],
    columns: Mapping[str, Column],
    prefix: str,
    shown: str,
    names: dict[str, str],
    label: str = "",
) -> dict[str, Any]:
    """Return the values of an object's members by field; what is wrong becomes an error of the record."""
    values: dict[str, Any] = {}
    for name, value in members.items():
        column = columns.get(name)
        try:
            if column is None or column.field in values:
                raise InvalidValue("is unknown" if column is None else "sets what another member sets")
            names[prefix + column.field] = f"{label}.{name}" if label else name
            values[column.field] = column.read(value)
        except InvalidValue as error:
            record.errors.append(LineError(record.line, shown + name, str(error)))
    return values
