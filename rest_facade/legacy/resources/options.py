"""Describe options, option combinations and exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel.codes import EXCEPTION_TYPES, MODIFIER_TYPES, OPTION_TYPES, SWITCH_STATUSES
from kernel.json_schema import (
    INTEGER,
    NULL,
    STRING,
    described,
    enum,
    map_of,
    named,
    object_schema,
    one_of,
    optional_members,
)
from kernel.scope import Scope
from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import selected_record
from rest_facade.legacy.reshape import is_cscart, record_renderer
from rest_facade.legacy.resource import (
    IN_CSCART,
    SEARCH,
    CombinedFilter,
    Record,
    RecordField,
    Resource,
    id_field,
    same_names,
    selection_of,
)
from rest_facade.legacy.resources.images import (
    IMAGE_DATA,
    PATHS,
    image_path,
    parse_image_data,
    parse_source,
    parse_url,
    render_paths,
)
from rest_facade.legacy.resources.variants import variant_entries
from rest_facade.legacy.value_schemas import rows_of

_MODIFIER_TYPE = types.code(MODIFIER_TYPES)

# --- Variants ----------------------------------------------------------------------------------------------------------------

_VARIANT = (
    RecordField("variant_id", types.BIGINT, source="number"),
    RecordField("variant_name", types.TEXT, source="name"),
    RecordField("modifier", types.SIGNED_MONEY),
    RecordField("modifier_type", types.TEXT),
    RecordField("position", types.BIGINT),
)
_render_variant = record_renderer(_VARIANT)


def _render_variants(variants: list[Record]) -> Record:
    rows = []
    for variant in variants:
        variant["image_pair"] = _render_icon(variant)
        rows.append(_render_variant(variant))
    return {row["variant_id"]: row for row in rows}


def _render_icon(variant: Record) -> Record:
    """Render the image of a variant; `{}` when there is none."""
    url, alt = variant.pop("image_url"), variant.pop("image_alt")
    if not url:
        return {}
    number = str(variant["variant_id"])
    return {
        "pair_id": number,
        "image_id": number,
        "detailed_id": "0",
        "position": "0",
        "icon": {
            "object_id": number,
            "object_type": "variant_image",
            **render_paths(url),
            "alt": alt,
        },
    }


def _parse_variants(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse variants `{variant_name, modifier, modifier_type, position, image_pair}`, in a list or keyed by variant_id."""
    assert types.SIGNED_MONEY.parse is not None
    assert _MODIFIER_TYPE.parse is not None
    variants = []
    keys = list(value) if isinstance(value, Mapping) else []
    for index, (variant_id, entry) in enumerate(variant_entries(value, label, name="variant_name")):
        variant: dict[str, Any] = {} if variant_id is None else {"id": variant_id}
        if keys:
            variant["key"] = keys[index]
        if entry.get("variant_name") is not None:
            variant["name"] = types.parse_text(entry["variant_name"], f"{label}: variant_name")
        if entry.get("modifier") not in (None, ""):
            variant["modifier"] = types.SIGNED_MONEY.parse(entry["modifier"], f"{label}: modifier")
        if entry.get("modifier_type") not in (None, ""):
            variant["modifier_type"] = _MODIFIER_TYPE.parse(entry["modifier_type"], f"{label}: modifier_type")
        if entry.get("position") not in (None, ""):
            variant["position"] = types.parse_integer(
                entry["position"], f"{label}: position", maximum=types.MAX_INTEGER
            )
        for name in ("image_pair", "main_pair"):
            if name in entry:
                variant |= _parse_icon(entry[name], f"{label}: {name}")
        variants.append(variant)
    return variants


def _parse_icon(pair: Any, label: str) -> dict[str, Any]:
    """Parse an image from `{icon: {image_path, alt?}}`; null and an empty object remove it."""
    if pair in (None, "", {}, []):
        return {"image_url": "", "image_alt": ""}
    icon = (pair.get("icon") or pair.get("detailed")) if isinstance(pair, Mapping) else None
    image = parse_source(icon, label) if isinstance(icon, Mapping) else None
    if not isinstance(icon, Mapping) or image is None:
        raise types.unexpected(label, pair, "an object such as {icon: {image_path}}")
    alt = types.parse_text(icon["alt"], f"{label}: alt") or "" if "alt" in icon else None
    if "upload" in image:
        return {"image": image if alt is None else {**image, "alt": alt}}
    return {"image_url": image["url"]} if alt is None else {"image_url": image["url"], "image_alt": alt}


def _parse_variant_images(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse variant images: `{icon: {image_path: {<n>: url}}}`, `{<n>: {icon: {image_path}}}` or one for the first variant.

    `<n>` is the variant's key in `variants`, else its id, else its position from 0.
    """
    if value in (None, "", {}, []):
        return []
    if not isinstance(value, Mapping | list):
        raise types.unexpected(label, value, "an object of image pairs")
    return [{"variant": key, **image} for key, image in _numbered_images(value, label)]


def _numbered_images(value: Any, label: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(value, Mapping) or not ("icon" in value or "detailed" in value):
        pairs = enumerate(value) if isinstance(value, list) else value.items()
        for key, pair in pairs:
            image = _parse_icon(pair, label)
            yield str(key), image.get("image") or {name.removeprefix("image_"): text for name, text in image.items()}
        return
    icon = value.get("icon") or value.get("detailed")
    if isinstance(icon, Mapping) and icon.get("image_data") not in (None, ""):
        yield "0", {"upload": parse_image_data(icon["image_data"], icon.get("file_name"), f"{label}.icon")}
        return
    paths = image_path(icon) if isinstance(icon, Mapping) else icon
    if isinstance(paths, str):
        paths = {"0": paths}
    elif isinstance(paths, list):
        paths = {str(key): path for key, path in enumerate(paths)}
    if not isinstance(paths, Mapping):
        raise types.unexpected(f"{label}.icon.image_path", paths, "addresses keyed by number")
    for key, url in paths.items():
        if not isinstance(url, str):
            raise types.unexpected(f"{label}.icon.image_path", url, "addresses keyed by number", verb="holds")
        yield str(key), {"url": parse_url(url)}


_IMAGE_PATHS = dict.fromkeys(PATHS, STRING)
_ICON = named(
    "OptionVariantImage",
    optional_members(
        pair_id=types.ID.schema,
        image_id=types.ID.schema,
        detailed_id=types.ID.schema,
        position=types.INTEGER.schema,
        icon=object_schema(**dict.fromkeys(("object_id", "object_type", *PATHS, "alt"), STRING)),
    ),
    "The image of a variant; `{}` when there is none.",
)
_ICON_INPUT = named(
    "OptionVariantImageBody",
    optional_members(icon=optional_members(**_IMAGE_PATHS, **IMAGE_DATA, alt=STRING)),
    "The image of a variant; `{}` removes it.",
)
_VARIANT_INPUT = named(
    "OptionVariantBody",
    optional_members(
        variant_id=types.ID.body_schema,
        variant_name=STRING,
        modifier=types.SIGNED_MONEY.body_schema,
        modifier_type=enum(MODIFIER_TYPES.codes),
        position=types.INTEGER.body_schema,
        image_pair=one_of(_ICON_INPUT, NULL),
    ),
)
_NUMBERED_PATHS = optional_members(**dict.fromkeys(PATHS, map_of(STRING)), **IMAGE_DATA)
_VARIANT_IMAGES = described(
    one_of(
        named("OptionVariantImages", {**object_schema(icon=_NUMBERED_PATHS), "additionalProperties": False}),
        named("OptionVariantImageMap", map_of(_ICON_INPUT)),
    ),
    "Images of variants by their key in `variants`, by their id, or by their position from 0.",
)

_CHECKBOX = ("c", "checkbox")
_CHECKBOX_NAMES = ("Não", "Sim")


def _with_checkbox_variants(body: Record) -> Record:
    """Complete the two variants of a checkbox, which CS-Cart creates itself and leaves without names; the second is that of the tick."""
    variants = body.get("variants") or {}
    if str(body.get("option_type")).lower() not in _CHECKBOX or not isinstance(variants, Mapping | list):
        return body
    entries = {
        str(key): entry for key, entry in (enumerate(variants) if isinstance(variants, list) else variants.items())
    }
    if len(entries) < len(_CHECKBOX_NAMES):
        entries = {"unticked": {}, **(entries or {"ticked": {}})}
    for (key, entry), name in zip(list(entries.items()), _CHECKBOX_NAMES, strict=False):
        if isinstance(entry, Mapping):
            entries[key] = {**entry, "variant_name": entry.get("variant_name") or name}
    return {**body, "variants": entries}


def _with_new_variants(changes: Record, record: Record) -> Record:
    """Let a variant whose key is no variant of the option be a new one, or the one of its name, as in CS-Cart."""
    variants = changes.get("variants")
    if not isinstance(variants, Mapping):
        return changes
    known = record["variants"].keys()
    entries = {
        key: {"variant_id": "", **entry} if isinstance(entry, Mapping) and str(key) not in known else entry
        for key, entry in variants.items()
    }
    return {**changes, "variants": entries}


def _parse_product(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Parse `product_id` as CS-Cart does: options that any of the products offers, shared ones too; 0 means those that are shared."""
    assert types.ID.parse_filter is not None
    numbers = [types.ID.parse_filter(text) for text in parameters["product_id"]]
    products = [number for number in numbers if str(number) != "0"]
    return {"offered_by": products} if products else {"product_id": numbers}


OPTIONS = Resource(
    path="options",
    privilege_area="catalog",
    open_to_vendors=True,
    always_keyed=True,
    unwrapped=True,
    texts=("option_name", "description", "variants"),
    fields=(
        id_field("option_id"),
        RecordField("product_id", types.ID, "product_id", "product_id"),
        RecordField("company_id", types.ID, "vendor_id", "vendor_id"),
        RecordField("option_name", types.TEXT, "name", "name"),
        RecordField("option_type", types.code(OPTION_TYPES), "type", "type"),
        *same_names(types.FLAG, "required", "inventory"),
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status"),
        RecordField("position", types.INTEGER, "position", "position"),
        RecordField("description", types.TEXT, "description", "description"),
        *(
            RecordField(name, value_type, name, source=name, permission=IN_CSCART)
            for name, value_type in (("allowed_extensions", types.TEXT), ("max_file_size", types.INTEGER))
        ),
        RecordField(
            "variants",
            types.rendered_by(
                _render_variants,
                _parse_variants,
                schema=map_of(selected_record("OptionVariant", _VARIANT, image_pair=_ICON)),
                body_schema=rows_of(one_of(_VARIANT_INPUT, STRING)),
            ),
            "variants",
            source=f"variants {selection_of(_VARIANT, 'image_url image_alt')}",
        ),
    ),
    input_fields=(
        RecordField(
            "main_pair", types.ValueType(parse=_parse_variant_images, body_schema=_VARIANT_IMAGES), "variant_pictures"
        ),
        RecordField("product_ids", types.IDS, "product_ids"),
    ),
    permissions={IN_CSCART: is_cscart},
    required=("option_name",),
    cscart_new=_with_checkbox_variants,
    cscart_update=_with_new_variants,
    message_terms={
        "product": "product_id",
        "products": "product_ids",
        "vendor": "company_id",
        "type": "option_type",
        "variants: name": "variants: variant_name",
        "variants: image_url": "variants: image_path",
        "url": "image_path",
    },
    filters=(SEARCH,),
    cscart_filters=(CombinedFilter(("product_id",), _parse_product, keying_parameters=("product_id",)),),
    sorts={"position": "POSITION", "option_name": "NAME", "option_id": "ID"},
)

# --- Combinations and exceptions ---------------------------------------------------------------------------------------------


def parse_choices(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse `{option_id: variant_id}`; PHP's empty array counts as an empty object."""
    if value in (None, "", []):
        return []
    if not isinstance(value, Mapping):
        raise types.unexpected(label, value, "an object of option_id to variant_id")
    choices = []
    for option, variant in value.items():
        pair = {"option_id": types.parse_id(option, f"{label}: option_id")}
        pair["variant_id"] = types.parse_id(variant, f"{label}: variant_id")
        if not all(isinstance(value_id, str) for value_id in pair.values()):
            raise types.unexpected(label, value, "an object of option_id to variant_id")
        choices.append(pair)
    return choices


_CHOICES_INPUT = described(map_of(one_of(STRING, INTEGER)), "Variant id by option id.")
CHOICES = types.ValueType(parse=parse_choices, body_schema=_CHOICES_INPUT)


def _parse_exception_choices(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse `{option_id: variant_id}`, where `-1` is any variant and `-2` none."""
    wildcards = {}
    if isinstance(value, Mapping):
        wildcards = {option: str(variant) for option, variant in value.items() if str(variant) in ("-1", "-2")}
        value = {option: variant for option, variant in value.items() if option not in wildcards}
    choices = parse_choices(value, label)
    for option, variant in wildcards.items():
        option_id = types.parse_id(option, f"{label}: option_id")
        if not isinstance(option_id, str):
            raise types.unexpected(label, option, "an object of option_id to variant_id", verb="holds")
        choices.append({"option_id": option_id, "variant_id": variant})
    return choices


_EXCEPTION_CHOICES = types.ValueType(
    parse=_parse_exception_choices,
    body_schema=described(_CHOICES_INPUT, "Variant id by option id; `-1` is any variant, `-2` none."),
)
# Terms of GraphQL error messages renamed for the legacy API.
COMBINATION_TERMS = {
    "choices": "combination",
    "sku": "product_code",
    "stock": "amount",
    "price_cents": "price",
    "product": "product_id",
    "url": "image_path",
}

FREIGHT_FIELDS = (
    *(
        RecordField(f"box_{name}", types.own_or_empty(types.LENGTH), f"{name}_mm", f"{name}_mm")
        for name in ("length", "width", "height")
    ),
    RecordField(
        "shipping_freight", types.own_or_empty(types.MONEY), "shipping_freight_cents", "shipping_freight_cents"
    ),
    RecordField("gtin", types.own_or_empty(types.TEXT), "gtin", "gtin"),
)

COMBINATIONS = Resource(
    path="combinations",
    key="combination_hash",
    fallback_key="combination_id",
    id_variable="hash",
    lookup_parameters=("product_id",),
    privilege_area="catalog",
    root_fields={
        "show": "combination_called",
        "update": "combination_called_update",
        "delete": "combination_called_delete",
    },
    results=dict.fromkeys(("create", "update"), "combination_hash: hash combination_id: number"),
    unwrapped=True,
    fields=(
        RecordField("combination_hash", types.TEXT, filter_name="hash", cscart_id="combination_id"),
        id_field("combination_id"),
        RecordField("product_id", types.ID, "product_id", "product_id"),
        RecordField("product_code", types.TEXT, "sku", "sku"),
        RecordField("combination", CHOICES, "choices", source="choice_numbers"),
        RecordField("amount", types.BIGINT, "stock", "stock"),
        RecordField("price", types.SIGNED_MONEY, "price_cents", "price_cents"),
        RecordField("position", types.INTEGER, "position", "position"),
        *FREIGHT_FIELDS,
    ),
    required=("product_id", "combination"),
    message_terms=COMBINATION_TERMS,
    filters=(SEARCH,),
    sorts={"position": "POSITION", "product_code": "SKU", "amount": "STOCK", "combination_id": "ID"},
)

EXCEPTIONS = Resource(
    path="exceptions",
    privilege_area="catalog",
    entity="option_exception",
    actions=("list", "show", "create", "delete"),
    cscart_actions=("update",),
    unwrapped=True,
    fields=(
        id_field("exception_id"),
        RecordField("product_id", types.ID, "product_id", "product_id"),
        RecordField("combination", _EXCEPTION_CHOICES, "choices", source="choice_numbers"),
        RecordField("type", types.optional(types.code(EXCEPTION_TYPES)), "type", "type"),
    ),
    required=("product_id", "combination"),
    message_terms={"choices": "combination", "product": "product_id"},
    filters=(SEARCH,),
    sorts={"exception_id": "ID"},
)
