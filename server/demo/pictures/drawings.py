"""Drawings: the SVG files of the objects, logos and scenery that the pictures of the demo stores are composed of.

Each file is a document of its own, to be changed with any program that draws SVG. Coordinates are those of a square of 1000 by 1000.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from kernel.text import slugify

Point = tuple[float, float]
Pose = Literal["standing", "lying", "hanging"]

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Drawing:
    """The object of a picture: what its document contains, the middle of its close-up, and how it touches the floor."""

    content: str
    focus: Point
    pose: Pose


@cache
def product_drawing(name: str) -> Drawing:
    """Return the drawing of the product with this name, whose root element has `data-focus` and `data-pose` where they aren't the usual."""
    document = _document(f"drawings/{slugify(name)}")
    root = ElementTree.fromstring(document)
    x, y = root.get("data-focus", "500 520").split()
    pose: Pose = root.get("data-pose", "standing")  # type: ignore[assignment]
    return Drawing(_content(document), (float(x), float(y)), pose)


def logo(key: str) -> str:
    """Return the logo of the vendor or store with this key, a whole document."""
    return _document(f"logos/{key}")


@cache
def scenery(name: str) -> str:
    """Return what stands around the drawing: `table`, `boards` or `leaves`."""
    return _content(_document(f"scenery/{name}"))


def _document(path: str) -> str:
    return (_FOLDER / f"{path}.svg").read_text("utf-8")


def _content(document: str) -> str:
    return document[document.index(">") + 1 : document.rindex("</svg>")]
