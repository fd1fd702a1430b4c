"""Render and parse images as CS-Cart's image pairs; a pair here has a large image (`detailed`) and no icon.

A body names an image by its address, or contains its bytes as base64 (`image_data`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernel.json_schema import NULL, STRING, described, map_of, named, object_schema, one_of, optional_members
from kernel.received_files import MAX_BYTES, ReceivedFile, file_of_bytes
from kernel.text import InvalidValue
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import Record
from rest_facade.legacy.value_schemas import rows_of

PATHS = ("image_path", "http_image_path", "https_image_path")
# A scheme of one letter would be a drive of Windows.
_SCHEME_OR_ROOT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|/")
# Encoders break lines after 76 characters (RFC 2045).
_LINE_BREAKS = {ord("\r"): None, ord("\n"): None}
_MAX_BASE64 = MAX_BYTES * 3 // 2
_ANY_IMAGE = "image/*"
_FILE_NAME = "image"
IMAGE_DATA = {
    "image_data": described(STRING, "The image itself in base64, in place of the paths."),
    "file_name": described(STRING, "The name of the file in `image_data`."),
}


def render_pair(image: Mapping[str, Any] | None) -> Record:
    """Render an image of a product; `{}` when there is none."""
    return {} if image is None else _pair(image, "product", image["product_number"])


def render_category_pair(image: Mapping[str, Any] | None) -> Record:
    """Render the image of a category, which has the category's number; `{}` when there is none."""
    return {} if image is None else _pair({**image, "position": 0}, "category", image["number"])


def _pair(image: Mapping[str, Any], object_type: str, owner: int) -> Record:
    number, url = str(image["number"]), image["url"]
    return {
        "pair_id": number,
        "image_id": "0",
        "detailed_id": number,
        "position": str(image["position"]),
        "detailed": {
            "object_id": str(owner),
            "object_type": object_type,
            **render_paths(url),
            "alt": image["alt"],
            "image_x": str(image["width"]),
            "image_y": str(image["height"]),
        },
    }


def render_paths(url: str) -> Record:
    """Render the address of an image with either scheme; a path stays as it is."""
    rest = after_scheme(url)
    return dict(zip(PATHS, (url, f"http://{rest}", f"https://{rest}") if rest else (url,) * 3, strict=True))


def after_scheme(url: str) -> str:
    """Return what follows the scheme of an address, empty for a path."""
    return url.partition("://")[2] if url.startswith(("http://", "https://")) else ""


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
    image = parse_source(detailed, f"{label}.detailed")
    if image is None:
        raise InvalidValue(f"{label}.detailed.image_path is required")
    if "alt" in detailed:
        image["alt"] = types.parse_text(detailed["alt"], f"{label}.detailed.alt") or ""
    for name, key in (("width", "image_x"), ("height", "image_y")):
        if detailed.get(key) not in (None, ""):
            size = types.parse_integer(detailed[key], f"{label}.detailed.{key}", maximum=types.MAX_INTEGER)
            if size < 0:
                raise types.unexpected(f"{label}.detailed.{key}", size, f"a whole number from 0 to {types.MAX_INTEGER}")
            image[name] = size
    return image


def _parse_category_pair(value: Any, label: str) -> dict[str, Any] | None:
    """Parse the image of a category, an address, whose size is that of the file."""
    image = parse_pair(value, label)
    if image and "upload" in image:
        raise InvalidValue(f"{label}.detailed.image_data is taken of products and options only; expected image_path")
    return image and {name: member for name, member in image.items() if name not in ("width", "height")}


def parse_source(source: Mapping[str, Any], label: str) -> dict[str, Any] | None:
    """Parse what the image of a pair is: `{upload}` of its `image_data`, else `{url}` of its path; None if it says neither."""
    if source.get("image_data") not in (None, ""):
        return {"upload": parse_image_data(source["image_data"], source.get("file_name"), label)}
    url = image_path(source)
    if url is None and source.get("image_data") == "":
        raise InvalidValue("image_data is empty")
    return {"url": parse_url(url)} if isinstance(url, str) else None


def image_path(source: Mapping[str, Any]) -> Any:
    """Return the address of an image in a pair; None if it has none."""
    return next((source[name] for name in (*PATHS, "image_url") if source.get(name)), None)


def parse_url(url: str) -> str:
    """Parse an address; raise InvalidValue for a relative path. Others are checked where it is known what the record has."""
    if url and _SCHEME_OR_ROOT.match(url) is None:
        raise types.unexpected("image_path", url, "an http or https address, or the file as image_data")
    return url


def parse_image_data(value: Any, file_name: Any, label: str) -> ReceivedFile:
    """Parse the bytes of an image."""
    if not isinstance(value, str):
        raise types.unexpected(f"{label}.image_data", value, "the file in base64")
    if len(value) > _MAX_BASE64:
        raise InvalidValue(f"{label}.image_data is larger than {MAX_BYTES} bytes")
    try:
        content = b64decode(value.translate(_LINE_BREAKS), validate=True)
    except ValueError as error:
        raise InvalidValue(f"{label}.image_data is not base64: {error}") from error
    name = types.parse_text(file_name, f"{label}.file_name") or _FILE_NAME
    return file_of_bytes(content, name, _ANY_IMAGE)


def parse_pairs(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse additional images: pairs in a list, or in an object with any keys."""
    if value is not None and not isinstance(value, list | Mapping):
        raise types.unexpected(label, value, "an object of image pairs")
    pairs = (parse_pair(pair, label) for pair in types.as_list(value or []))
    return [pair for pair in pairs if pair is not None]


_DETAILED = ("object_id", "object_type", *PATHS, "alt", "image_x", "image_y")
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
    **dict.fromkeys((*PATHS, "image_url"), STRING),
    **IMAGE_DATA,
    alt=STRING,
    image_x=types.INTEGER.body_schema,
    image_y=types.INTEGER.body_schema,
)
PAIR_INPUT = named(
    "ImagePairBody",
    optional_members(
        detailed=named("DetailedImageBody", _DETAILED_INPUT, "One of the paths, or `image_data`, is required.")
    ),
    "An image; `{}` removes it.",
)
IMAGE = types.rendered_by(render_pair, parse_pair, schema=PAIR, body_schema=one_of(PAIR_INPUT, NULL))
IMAGES = types.rendered_by(
    render_pairs, parse_pairs, schema=described(map_of(PAIR), "By `pair_id`."), body_schema=rows_of(PAIR_INPUT)
)
CATEGORY_IMAGE = replace(
    IMAGE,
    render=render_category_pair,
    parse=_parse_category_pair,
    body_schema=one_of(
        named(
            "CategoryImageBody",
            optional_members(detailed=optional_members(**dict.fromkeys((*PATHS, "image_url", "alt"), STRING))),
            "An image; `{}` removes it.",
        ),
        NULL,
    ),
)
