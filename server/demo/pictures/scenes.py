"""The compositions: a drawing in a studio, on a surface seen from above, close up, in use; logos and banners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from server.demo.pictures.svg import (
    DARK_LEAF,
    DEFINITIONS,
    LEAF,
    TERRACOTTA,
    Drawing,
    box,
    darker,
    ellipse,
    fill,
    grain,
    ground,
    lathe,
    leaf,
    lighter,
    line,
    moved,
)

_FLOOR_Y = 700
_TABLE = "#b98653"
_ALL = box(0, 0, 1000, 1000)
_SHAPES = {
    "arch": f"M250 {_FLOOR_Y}V400a250 250 0 0 1 500 0V{_FLOOR_Y}z",
    "circle": ellipse(500, 430, 320),
    "window": box(210, 110, 580, 590, 12),
    "hill": f"M0 {_FLOOR_Y}C160 470 330 470 470 560S780 380 1000 520V{_FLOOR_Y}z",
}


@dataclass(frozen=True, slots=True)
class Backdrop:
    """The colours of a studio, and the shape of the accent on its wall."""

    wall: str
    floor: str
    accent: str
    shape: Literal["arch", "circle", "window", "hill"] = "arch"


def document(content: str, width: int = 1000, height: int = 1000) -> str:
    """Return a whole SVG document."""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{DEFINITIONS}{content}</svg>\n'


def product(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return the main picture of a product."""
    return document(_stage(drawing, backdrop) + drawing.content)


def close_up(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return a close-up of the drawing's focus, on the accent's colour."""
    x, y = drawing.focus
    # Larger than the picture, since it is moved.
    wall = fill(box(-1000, -1000, 3000, 3000), backdrop.accent)
    floor = (
        ""
        if drawing.lies or drawing.hangs
        else fill(f"M-1000 {_FLOOR_Y}H2000V2000H-1000z", darker(backdrop.accent, 0.1))
    )
    return document(moved(wall + floor + drawing.content, 500 - x, 500 - y, scale=1.9, about=(x, y)))


def in_use(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return the drawing on a wooden table: seen from above, or in front of a window and a plant."""
    return document(_table_from_above(drawing) if drawing.lies else _room(drawing, backdrop))


def category(drawing: Drawing, backdrop: Backdrop) -> str:
    """Return the picture of a category: the drawing on other colours than the product's own picture."""
    swapped = Backdrop(backdrop.accent, backdrop.floor, backdrop.wall, "circle")
    return document(_stage(drawing, swapped) + moved(drawing.content, 0, 10, scale=0.92, about=(500, 780)))


def logo(mark: str, colour: str) -> str:
    """Return a logo: a mark on a disc, transparent around it."""
    disc = fill(ellipse(500, 500, 480), colour) + line(ellipse(500, 500, 440), lighter(colour, 0.7), 8, 0.55)
    return document(disc + mark)


def banner(drawings: Sequence[tuple[Drawing, float, float]], backdrop: Backdrop) -> str:
    """Return a wide picture of drawings, each with its x and scale, that stand on a rack; its left half is empty, for text."""
    arches = "M1010 640V330a230 230 0 0 1 460 0V640z", "M1540 640V440a170 170 0 0 1 340 0V640z"
    wall = (
        fill(box(0, 0, 2000, 800), backdrop.wall)
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
    if drawing.lies:
        is_round = backdrop.shape == "circle"
        return wall + fill(ellipse(500, 500, 430) if is_round else "M0 1000V640L1000 300V1000z", backdrop.accent, 0.75)
    accent = fill(_SHAPES[backdrop.shape], backdrop.accent)
    if drawing.hangs:
        return wall + accent
    return wall + accent + _floor(backdrop.floor)


def _floor(colour: str) -> str:
    return fill(f"M0 {_FLOOR_Y}H1000V1000H0z", colour) + fill(f"M0 {_FLOOR_Y}H1000V{_FLOOR_Y + 150}H0z", "url(#fall)")


def _room(drawing: Drawing, backdrop: Backdrop) -> str:
    wall = darker(backdrop.wall, 0.06)
    panes = "".join(box(x, y, 150, 190) for x in (120, 290) for y in (90, 300))
    window = fill(box(96, 66, 368, 448, 8), lighter(wall, 0.75)) + fill(panes, "#cfe3ea")
    light = fill("M560 60L1000 190V560L560 330z", "#fff7e0", 0.28)
    table = (
        fill("M0 690H1000V1000H0z", _TABLE)
        + grain(0, 700, 1000, 290, _TABLE, 9)
        + fill("M0 690H1000V702H0z", lighter(_TABLE, 0.3))
    )
    pot = ground(860, 742, 92) + lathe([(560, 74), (640, 70), (735, 52)], TERRACOTTA, 855)
    leaves = ((-58, 250), (-30, 330), (-6, 360), (22, 340), (50, 270), (-80, 170), (74, 190))
    plant = "".join(
        leaf(855, 562, length, angle, (LEAF, DARK_LEAF)[i % 2], 0.3) for i, (angle, length) in enumerate(leaves)
    )
    return (
        fill(_ALL, wall)
        + window
        + light
        + table
        + plant
        + pot
        + moved(drawing.content, -90, 15, scale=0.86, about=(500, 850))
    )


def _table_from_above(drawing: Drawing) -> str:
    boards = fill(_ALL, _TABLE) + "".join(grain(0, y, 1000, 200, _TABLE, 3) for y in range(0, 1000, 200))
    gaps = line("M0 200H1000M0 400H1000M0 600H1000M0 800H1000", darker(_TABLE, 0.4), 5, 0.6)
    leaves = "".join(
        leaf(1000, 1000, 330, angle, (LEAF, DARK_LEAF)[i % 2], 0.32) for i, angle in enumerate((-84, -60, -36, -12))
    )
    return boards + gaps + moved(drawing.content, -30, -20, angle=-7, scale=0.86) + leaves
