"""Show and read pictures as CS-Cart's image pairs; a pair here has its large picture (`detailed`) and no icon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.text import Malformed, shown
from rest_facade.legacy.resource import Record
from rest_facade.legacy.value_types import MAX_INTEGER, listed, shown_with, text_from, whole_from

_PATHS = ("image_path", "http_image_path", "https_image_path")


def pair_shown(image: Mapping[str, Any] | None) -> Record:
    """Show a picture; `{}` when there is none."""
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


def pairs_shown(images: list[Mapping[str, Any]]) -> Record:
    """Show further pictures, by the id of their pair."""
    return {pair["pair_id"]: pair for pair in map(pair_shown, images)}


def pair_from(value: Any, label: str) -> dict[str, Any] | None:
    """Read a picture from `{detailed: {image_path, alt?, image_x?, image_y?}}`; null and an empty object take it away."""
    if value in (None, "", {}, []):
        return None
    detailed = value.get("detailed") if isinstance(value, Mapping) else None
    if not isinstance(detailed, Mapping):
        raise Malformed(f"{label} is {shown(value)}; expected an object such as {{detailed: {{image_path}}}}")
    url = next((detailed[name] for name in _PATHS if detailed.get(name)), None)
    if not isinstance(url, str):
        raise Malformed(f"{label}.detailed.image_path is required")
    picture: dict[str, Any] = {"url": url}
    if detailed.get("alt") is not None:
        picture["alt"] = text_from(detailed["alt"], f"{label}.detailed.alt")
    for name, given in (("width", "image_x"), ("height", "image_y")):
        if detailed.get(given) not in (None, ""):
            picture[name] = whole_from(detailed[given], f"{label}.detailed.{given}", most=MAX_INTEGER)
    return picture


def pairs_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read further pictures: pairs in a list, or in an object with any keys."""
    if value is not None and not isinstance(value, list | Mapping):
        raise Malformed(f"{label} is {shown(value)}; expected an object of image pairs")
    pairs = (pair_from(pair, label) for pair in listed(value or []))
    return [pair for pair in pairs if pair is not None]


PICTURE = shown_with(pair_shown, pair_from)
PICTURES = shown_with(pairs_shown, pairs_from)
