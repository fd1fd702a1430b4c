"""Describe options, combinations and exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel.codes import EXCEPTION_TYPES, MODIFIER_TYPES, OPTION_TYPES, SWITCH_STATUSES
from kernel.ids import parse_reference
from kernel.text import Malformed, shown
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import Record, RecordField, Resource, id_field
from rest_facade.legacy.resources.variants import entries_of
from rest_facade.legacy.value_types import (
    FLAG,
    ID,
    IDS,
    MAX_INTEGER,
    NUMBER,
    SIGNED_MONEY,
    SMALL_NUMBER,
    TEXT,
    ValueType,
    code,
    id_from,
    text_from,
    whole_from,
)

_MODIFIER_TYPE = code(MODIFIER_TYPES)
_PATHS = ("image_path", "http_image_path", "https_image_path")

# --- Variants ----------------------------------------------------------------------------------------------------------------

_show_variant = row_shower(
    (
        RecordField("variant_id", NUMBER),
        RecordField("modifier", SIGNED_MONEY),
        RecordField("position", NUMBER),
    )
)


def _variants_shown(variants: list[Record]) -> Record:
    rows = []
    for variant in variants:
        variant["image_pair"] = _icon_shown(variant)
        rows.append(_show_variant(variant))
    return {row["variant_id"]: row for row in rows}


def _icon_shown(variant: Record) -> Record:
    """Show the picture of a variant; `{}` when there is none."""
    url, alt = variant.pop("image_url"), variant.pop("image_alt")
    if not url:
        return {}
    number = str(variant["variant_id"])
    _, scheme, rest = url.partition("://")
    return {
        "pair_id": number,
        "image_id": number,
        "detailed_id": "0",
        "position": "0",
        "icon": {
            "object_id": number,
            "object_type": "variant_image",
            "image_path": url,
            "http_image_path": f"http://{rest}" if scheme else url,
            "https_image_path": f"https://{rest}" if scheme else url,
            "alt": alt,
        },
    }


def _variants_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read variants: `{variant_name, modifier, modifier_type, position, image_pair}`, in a list or keyed by variant_id."""
    assert SIGNED_MONEY.read is not None
    assert _MODIFIER_TYPE.read is not None
    read = []
    for variant_id, entry in entries_of(value, label, name="variant_name"):
        variant: dict[str, Any] = {} if variant_id is None else {"id": variant_id}
        if entry.get("variant_name") is not None:
            variant["name"] = text_from(entry["variant_name"], f"{label}: variant_name")
        if entry.get("modifier") not in (None, ""):
            variant["modifier"] = SIGNED_MONEY.read(entry["modifier"], f"{label}: modifier")
        if entry.get("modifier_type") not in (None, ""):
            variant["modifier_type"] = _MODIFIER_TYPE.read(entry["modifier_type"], f"{label}: modifier_type")
        if entry.get("position") not in (None, ""):
            variant["position"] = whole_from(entry["position"], f"{label}: position", most=MAX_INTEGER)
        for name in ("image_pair", "main_pair"):
            if name in entry:
                variant |= _icon_from(entry[name], f"{label}: {name}")
        read.append(variant)
    return read


def _icon_from(pair: Any, label: str) -> dict[str, Any]:
    """Read a picture from `{icon: {image_path, alt?}}`; null and an empty object take it away."""
    if pair in (None, "", {}, []):
        return {"image_url": "", "image_alt": ""}
    icon = (pair.get("icon") or pair.get("detailed")) if isinstance(pair, Mapping) else None
    url = _path_of(icon) if isinstance(icon, Mapping) else None
    if not isinstance(icon, Mapping) or not isinstance(url, str):
        raise Malformed(f"{label} is {shown(pair)}; expected an object such as {{icon: {{image_path}}}}")
    return {"image_url": url, "image_alt": text_from(icon.get("alt"), f"{label}: alt") or ""}


def _path_of(icon: Mapping[str, Any]) -> Any:
    return next((icon[name] for name in _PATHS if icon.get(name)), None)


def _pictures_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read pictures of variants: `{icon: {image_path: {<n>: url}}}`, `{<n>: {icon: {image_path}}}` or one for the first variant.

    The number is a variant's id, else its place from 0.
    """
    if value in (None, "", {}, []):
        return []
    if not isinstance(value, Mapping | list):
        raise Malformed(f"{label} is {shown(value)}; expected an object of image pairs")
    return [{"variant": place, "url": url} for place, url in _numbered(value, label)]


def _numbered(value: Any, label: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and ("icon" in value or "detailed" in value):
        icon = value.get("icon") or value.get("detailed")
        paths = _path_of(icon) if isinstance(icon, Mapping) else icon
    else:
        pairs = enumerate(value) if isinstance(value, list) else value.items()
        paths = {str(place): _icon_from(pair, label)["image_url"] for place, pair in pairs}
    if isinstance(paths, str):
        paths = {"0": paths}
    elif isinstance(paths, list):
        paths = {str(place): path for place, path in enumerate(paths)}
    if not isinstance(paths, Mapping):
        raise Malformed(f"{label}.icon.image_path is {shown(paths)}; expected addresses keyed by number")
    for place, url in paths.items():
        if not isinstance(url, str) or not (place == "0" or parse_reference(place) is not None):
            raise Malformed(f"{label}.icon.image_path holds {shown(url)}; expected addresses keyed by number")
        yield place, url


OPTIONS = Resource(
    path="options",
    key="option_id",
    thing="option",
    area="catalog",
    operations="Option",
    open_to_vendors=True,
    always_keyed=True,
    bare=True,
    fields=(
        id_field("option_id"),
        RecordField("product_id", ID, "product_id", "product_id"),
        RecordField("company_id", ID, "vendor_id", "vendor_id"),
        RecordField("option_name", TEXT, "name", "name"),
        RecordField("option_type", code(OPTION_TYPES), "type", "type"),
        RecordField("required", FLAG, "required", "required"),
        RecordField("inventory", FLAG, "inventory", "inventory"),
        RecordField("status", code(SWITCH_STATUSES), "status", "status"),
        RecordField("position", SMALL_NUMBER, "position", "position"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("variants", ValueType(show=_variants_shown, read=_variants_from), "variants"),
    ),
    inputs=(
        RecordField("main_pair", ValueType(read=_pictures_from), "variant_pictures"),
        RecordField("product_ids", IDS, "product_ids"),
    ),
    required={"option_name": "option_name is required"},
    says={"product": "product_id", "products": "product_ids", "vendor": "company_id", "type": "option_type"},
    sorts={"position": "POSITION", "option_name": "NAME", "option_id": "ID"},
    default_sort=("position", "asc"),
)

# --- Combinations and exceptions ---------------------------------------------------------------------------------------------


def choices_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read `{option_id: variant_id}`; PHP's empty array is an empty one."""
    if value in (None, "", []):
        return []
    if not isinstance(value, Mapping):
        raise Malformed(f"{label} is {shown(value)}; expected an object of option_id to variant_id")
    choices = []
    for option, variant in value.items():
        pair = {"option_id": id_from(option, f"{label}: option_id")}
        pair["variant_id"] = id_from(variant, f"{label}: variant_id")
        if not all(isinstance(named, str) for named in pair.values()):
            raise Malformed(f"{label} is {shown(value)}; expected an object of option_id to variant_id")
        choices.append(pair)
    return choices


CHOICES = ValueType(read=choices_from)
# Words of refusals that the legacy layer says differently.
COMBINATION_WORDS = {
    "choices": "combination",
    "sku": "product_code",
    "stock": "amount",
    "price_cents": "price",
    "product": "product_id",
}

COMBINATIONS = Resource(
    path="combinations",
    key="combination_hash",
    spare_key="combination_id",
    segment="hash",
    also=("product_id",),
    thing="combination",
    area="catalog",
    operations="Combination",
    bare=True,
    fields=(
        RecordField("combination_hash", TEXT, filters="hash"),
        id_field("combination_id"),
        RecordField("product_id", ID, "product_id", "product_id"),
        RecordField("product_code", TEXT, "sku", "sku"),
        RecordField("combination", CHOICES, "choices"),
        RecordField("amount", NUMBER, "stock", "stock"),
        RecordField("price", SIGNED_MONEY, "price_cents", "price_cents"),
        RecordField("position", SMALL_NUMBER, "position", "position"),
    ),
    required={"product_id": "product_id is required", "combination": "combination is required"},
    says=COMBINATION_WORDS,
    sorts={"position": "POSITION", "product_code": "SKU", "amount": "STOCK", "combination_id": "ID"},
    default_sort=("position", "asc"),
)

EXCEPTIONS = Resource(
    path="exceptions",
    key="exception_id",
    thing="exception",
    area="catalog",
    operations="Exception",
    does=("list", "show", "create", "delete"),
    bare=True,
    fields=(
        id_field("exception_id"),
        RecordField("product_id", ID, "product_id", "product_id"),
        RecordField("combination", CHOICES, "choices"),
        RecordField("type", code(EXCEPTION_TYPES), "type", "type"),
    ),
    required={
        "product_id": "product_id is required",
        "combination": "combination is required",
        "type": "type is required",
    },
    says={"choices": "combination", "product": "product_id"},
    sorts={"exception_id": "ID"},
    default_sort=("exception_id", "asc"),
)
