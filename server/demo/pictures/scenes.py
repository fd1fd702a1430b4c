"""The compositions: a drawing in a studio, on a surface seen from above, close up, in use; and banners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from server.demo.pictures.drawings import Drawing, Point, scenery

_FLOOR_Y = 700
_ALL = "M0 0H1000V1000H0z"
_SHAPES = {
    "arch": f"M250 {_FLOOR_Y}V400a250 250 0 0 1 500 0V{_FLOOR_Y}z",
    "circle": "M180 430a320 320 0 1 1 640 0a320 320 0 1 1 -640 0z",
    "window": "M222 110h556a12 12 0 0 1 12 12v566a12 12 0 0 1 -12 12h-556a12 12 0 0 1 -12 -12v-566a12 12 0 0 1 12 -12z",
    "hill": f"M0 {_FLOOR_Y}C160 470 330 470 470 560S780 380 1000 520V{_FLOOR_Y}z",
}


@dataclass(frozen=True, slots=True)
class Backdrop:
    """The colours of a studio, and the shape of the accent on its wall."""

    wall: str
    floor: str
    accent: str
    shape: Literal["arch", "circle", "window", "hill"] = "arch"


_LIGHT = """<defs>
<linearGradient id="fall" x2="0" y2="1">
 <stop stop-color="#1c0f08" stop-opacity=".16"/><stop offset="1" stop-color="#1c0f08" stop-opacity="0"/>
</linearGradient>
<linearGradient id="daylight" x2="0" y2="1">
 <stop stop-color="#fff" stop-opacity=".5"/><stop offset=".7" stop-color="#fff" stop-opacity="0"/>
</linearGradient>
</defs>"""


def document(content: str, width: int = 1000, height: int = 1000) -> str:
    """Return a whole SVG document."""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{_LIGHT}{content}</svg>\n'


def product(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return the main picture of a product."""
    return document(_stage(drawing, backdrop) + drawing.content)


def close_up(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return a close-up of the drawing's focus, on the accent's colour."""
    x, y = drawing.focus
    # Larger than the picture, since it is moved.
    wall = fill("M-1000 -1000H2000V2000H-1000z", backdrop.accent)
    floor = (
        fill(f"M-1000 {_FLOOR_Y}H2000V2000H-1000z", darker(backdrop.accent, 0.1)) if drawing.pose == "standing" else ""
    )
    return document(moved(wall + floor + drawing.content, 500 - x, 500 - y, scale=1.9, about=(x, y)))


def in_use(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return the drawing on a wooden table: seen from above, or in front of a window and a plant."""
    return document(_table_from_above(drawing) if drawing.pose == "lying" else _room(drawing, backdrop))


def category(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return the picture of a category: the drawing on other colours than the product's own picture."""
    swapped = Backdrop(backdrop.accent, backdrop.floor, backdrop.wall, "circle")
    return document(_stage(drawing, swapped) + moved(drawing.content, 0, 10, scale=0.92, about=(500, 780)))


def banner(drawings: Sequence[tuple[Drawing, float, float]], backdrop: Backdrop) -> str:
    """Return a wide picture of drawings, each with its x and scale, that stand on a rack; its left half is empty, for text."""
    arches = "M1010 640V330a230 230 0 0 1 460 0V640z", "M1540 640V440a170 170 0 0 1 340 0V640z"
    wall = (
        fill("M0 0H2000V800H0z", backdrop.wall)
        + fill(arches[0], backdrop.accent)
        + fill(arches[1], lighter(backdrop.floor, 0.35))
    )
    rack = fill("M0 640H2000V800H0z", backdrop.floor) + fill("M0 640H2000V740H0z", "url(#fall)")
    placed = "".join(
        moved(each.content, x - 500, 710 - 840, scale=scale, about=(500, 840)) for each, x, scale in drawings
    )
    return document(wall + rack + placed, 2000, 800)


def _stage(drawing: Drawing, backdrop: Backdrop) -> str:
    wall = fill(_ALL, backdrop.wall) + fill(_ALL, "url(#daylight)")
    if drawing.pose == "lying":
        disc = "M70 500a430 430 0 1 1 860 0a430 430 0 1 1 -860 0z"
        shape = disc if backdrop.shape == "circle" else "M0 1000V640L1000 300V1000z"
        return wall + fill(shape, backdrop.accent, 0.75)
    accent = fill(_SHAPES[backdrop.shape], backdrop.accent)
    if drawing.pose == "hanging":
        return wall + accent
    return wall + accent + _floor(backdrop.floor)


def _floor(colour: str) -> str:
    return fill(f"M0 {_FLOOR_Y}H1000V1000H0z", colour) + fill(f"M0 {_FLOOR_Y}H1000V{_FLOOR_Y + 150}H0z", "url(#fall)")


def _room(drawing: Drawing, backdrop: Backdrop) -> str:
    wall = darker(backdrop.wall, 0.06)
    frame = "M104 66h352a8 8 0 0 1 8 8v432a8 8 0 0 1 -8 8h-352a8 8 0 0 1 -8 -8v-432a8 8 0 0 1 8 -8z"
    panes = "M120 90h150v190h-150zM120 300h150v190h-150zM290 90h150v190h-150zM290 300h150v190h-150z"
    window = fill(frame, lighter(wall, 0.75)) + fill(panes, "#cfe3ea")
    light = fill("M560 60L1000 190V560L560 330z", "#fff7e0", 0.28)
    placed = moved(drawing.content, -90, 15, scale=0.86, about=(500, 850))
    return fill(_ALL, wall) + window + light + scenery("table") + placed


def _table_from_above(drawing: Drawing) -> str:
    return scenery("boards") + moved(drawing.content, -30, -20, angle=-7, scale=0.86) + scenery("leaves")


def fill(path: str, colour: str, opacity: float = 1) -> str:
    """Fill a path."""
    return f'<path d="{path}" fill="{colour}" opacity="{opacity:g}"/>'


def moved(content: str, x: float, y: float, *, angle: float = 0, scale: float = 1, about: Point = (500, 500)) -> str:
    """Move, turn (degrees, clockwise) and scale content about a point."""
    cx, cy = about
    transform = f"translate({x + cx:g} {y + cy:g}) rotate({angle:g}) scale({scale:g}) translate({-cx:g} {-cy:g})"
    return f'<g transform="{transform}">{content}</g>'


def darker(colour: str, share: float) -> str:
    """Return a darker, warm tone of a colour: six hexadecimal digits with `#`."""
    return _mix(colour, "#20120a", share)


def lighter(colour: str, share: float) -> str:
    """Return a lighter tone of a colour: six hexadecimal digits with `#`."""
    return _mix(colour, "#fff8ec", share)


def _mix(colour: str, other: str, share: float) -> str:
    pairs = ((int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
