"""The JSON Schemas of the legacy value types, in records and in bodies (docs/reference/legacy.md#values).

Bodies accept more than the schemas say: codes by their labels, numbers as texts and, where it is harmless, texts as numbers.
"""

from __future__ import annotations

from typing import Any

from kernel.json_schema import BOOLEAN, INTEGER, NULL, STRING, Schema, array, enum, map_of, named, one_of


def _text(name: str, pattern: str, example: str, description: str) -> Schema:
    return named(name, {"type": "string", "pattern": pattern, "examples": [example]}, description)


ID = _text("Id", "^[0-9]+$", "12", "The number of a record; `0` for none.")
IDS = array(ID)
INTEGER_TEXT = _text("IntegerText", "^-?[0-9]+$", "3", "A whole number.")
MONEY = _text("Money", r"^[0-9]+\.[0-9]{2}$", "49.90", "An amount, or a percentage.")
SIGNED_MONEY = _text("SignedMoney", r"^-?[0-9]+\.[0-9]{2}$", "-5.00", "An amount or percentage, possibly negative.")
RATE = _text("Rate", r"^[0-9]+\.[0-9]{2,3}$", "18.00", "A tax rate: a percentage or an amount.")
WEIGHT = _text("Weight", r"^[0-9]+\.[0-9]{3}$", "0.350", "Kilograms.")
LENGTH = _text("Length", r"^[0-9]+\.[0-9]$", "12.5", "Centimetres.")
UNIX_TIME = _text("UnixTime", "^-?[0-9]+$", "1763661600", "Unix seconds; `0` for none.")
FLAG: Schema = named("Flag", {**enum(("Y", "N")), "examples": ["Y"]}, "Yes or no.")
WRITTEN_ID: Schema = named(
    "WrittenId", one_of(STRING, INTEGER), "The number of a written record: a text, in CS-Cart's dialect an integer."
)
SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
EMPTY: Schema = {"type": "string", "maxLength": 0}
EMPTY_OR_NUMBER: Schema = {"type": "string", "pattern": "^[0-9]*$"}

# --- Bodies ------------------------------------------------------------------------------------------------------------------

_REFERENCE: Schema = one_of(STRING, INTEGER)
ID_INPUT: Schema = named(
    "IdInput", {**one_of(STRING, INTEGER, NULL), "examples": [12]}, "A number or UUID; null and `0` mean none."
)
IDS_INPUT: Schema = named(
    "IdsInput",
    {**one_of(array(_REFERENCE), map_of(_REFERENCE), STRING, INTEGER), "examples": [[3, 7]]},
    "Numbers or UUIDs in an array, in an object with any keys, or in a text with commas.",
)
INTEGER_INPUT: Schema = named("IntegerInput", {**one_of(STRING, INTEGER), "examples": [3]}, "A whole number.")
MONEY_INPUT: Schema = named(
    "MoneyInput",
    {"type": ["string", "number"], "examples": ["49.90"]},
    "An amount or percentage, of at most two decimals.",
)
RATE_INPUT: Schema = {"type": ["string", "number"], "description": "A percentage or amount, of at most three decimals."}
WEIGHT_INPUT: Schema = named("WeightInput", {"type": ["string", "number"], "examples": ["0.350"]}, "Kilograms.")
LENGTH_INPUT: Schema = named("LengthInput", {"type": ["string", "number"], "examples": ["12.5"]}, "Centimetres.")
TIME_INPUT: Schema = named(
    "TimeInput", {"type": ["string", "integer", "null"], "examples": [1763661600]}, "Unix seconds."
)
FLAG_INPUT: Schema = named("FlagInput", one_of(FLAG, BOOLEAN), "Yes or no; also 1 and 0.")


def rows_of(row: Any) -> Schema:
    """Describe rows in an array, or in an object with any keys as PHP sends it."""
    return one_of(array(row), map_of(row))
