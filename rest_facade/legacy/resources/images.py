"""Render and parse images as CS-Cart's image pairs; a pair here has a large image (`detailed`) and no icon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.json_schema import NULL, STRING, described, map_of, named, object_schema, one_of, optional_members
from kernel.text import InvalidValue
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import Record
from rest_facade.legacy.value_schemas import rows_of

_PATHS = ("image_path", "http_image_path", "https_image_path")


def render_pair(image: Mapping[str, Any] | None) -> Record:
    """Render an image; `{}` when there is none."""
    if image is None:
        return {}
    number, url = str(image["number"]), image["url"]
    _, scheme, rest = url.partition("://")
    return {
        "pair_id": number,
        "image_id": "0",
        "detailed_id": number,
        "position": str(image["position"]),
        "detailed": {
            "object_id": str(image["product_number"]),
            "object_type": "product",
            "image_path": url,
            "http_image_path": f"http://{rest}" if scheme else url,
            "https_image_path": f"https://{rest}" if scheme else url,
            "alt": image["alt"],
            "image_x": str(image["width"]),
            "image_y": str(image["height"]),
        },
    }


def render_pairs(images: list[Mapping[str, Any]]) -> Record:
    """Render additional images by pair id."""
    return {pair["pair_id"]: pair for pair in map(render_pair, images)}


def parse_pair(value: Any, label: str) -> dict[str, Any] | None:
    """Parse an image from `{detailed: {image_path, alt?, image_x?, image_y?}}`; null and an empty object remove it."""
    if value in (None, "", {}, []):
        return None
    detailed = value.get("detailed") if isinstance(value, Mapping) else None
    if not isinstance(detailed, Mapping):
        raise types.unexpected(label, value, "an object such as {detailed: {image_path}}")
    url = next((detailed[name] for name in _PATHS if detailed.get(name)), None)
    if not isinstance(url, str):
        raise InvalidValue(f"{label}.detailed.image_path is required")
    image: dict[str, Any] = {"url": url}
    if detailed.get("alt") is not None:
        image["alt"] = types.parse_text(detailed["alt"], f"{label}.detailed.alt")
    for name, key in (("width", "image_x"), ("height", "image_y")):
        if detailed.get(key) not in (None, ""):
            size = types.parse_integer(detailed[key], f"{label}.detailed.{key}", maximum=types.MAX_INTEGER)
            if size < 0:
                raise types.unexpected(f"{label}.detailed.{key}", size, f"a whole number from 0 to {types.MAX_INTEGER}")
            image[name] = size
    return image


def parse_pairs(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse additional images: pairs in a list, or in an object with any keys."""
    if value is not None and not isinstance(value, list | Mapping):
        raise types.unexpected(label, value, "an object of image pairs")
    pairs = (parse_pair(pair, label) for pair in types.as_list(value or []))
    return [pair for pair in pairs if pair is not None]


_DETAILED = ("object_id", "object_type", *_PATHS, "alt", "image_x", "image_y")
PAIR = named(
    "ImagePair",
    optional_members(
        pair_id=types.ID.schema,
        image_id=types.ID.schema,
        detailed_id=types.ID.schema,
        position=types.INTEGER.schema,
        detailed=named(
            "DetailedImage",
            object_schema(*_DETAILED, **dict.fromkeys(_DETAILED, STRING), absolute_path=STRING, relative_path=STRING),
        ),
    ),
    "An image; `{}` when there is none.",
)
_DETAILED_INPUT = optional_members(
    **dict.fromkeys(_PATHS, STRING), alt=STRING, image_x=types.INTEGER.body_schema, image_y=types.INTEGER.body_schema
)
PAIR_INPUT = named(
    "ImagePairBody",
    optional_members(detailed=named("DetailedImageBody", _DETAILED_INPUT, "One of the paths is required.")),
    "An image; `{}` removes it.",
)
IMAGE = types.rendered_by(render_pair, parse_pair, schema=PAIR, body_schema=one_of(PAIR_INPUT, NULL))
IMAGES = types.rendered_by(
    render_pairs, parse_pairs, schema=described(map_of(PAIR), "By `pair_id`."), body_schema=rows_of(PAIR_INPUT)
)
