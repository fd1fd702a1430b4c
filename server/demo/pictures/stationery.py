"""Drawings of stationery."""

from __future__ import annotations

from collections.abc import Mapping

from server.demo.pictures.svg import (
    BLACK,
    CREAM,
    DARK_LEAF,
    INDIGO,
    LEAF,
    MOSS,
    PINK,
    PURPLE,
    RED,
    RUST,
    SAND,
    TEAL,
    WHITE,
    YELLOW,
    Drawing,
    box,
    cast,
    clipped,
    darker,
    ellipse,
    fill,
    leaf,
    lighter,
    line,
    lying,
    moved,
    solid,
)
from server.demo.pictures.textiles import bird


def _notebook(colour: str, motif: str, pen: str) -> str:
    pages = lying(box(262, 132, 500, 740, 14), "#f2ead9", 20) + "".join(
        line(f"M{x} 140V864", darker(CREAM, 0.25), 2, 0.7) for x in (748, 752, 757)
    )
    cover = solid(box(240, 124, 505, 752, 16), colour) + fill(
        "M240 140a16 16 0 0 1 16 -16h40v752h-40a16 16 0 0 1 -16 -16z", darker(colour, 0.25)
    )
    stitches = "".join(line(f"M296 {y}v40", CREAM, 5) for y in range(170, 850, 76))
    band = fill(box(690, 124, 18, 752), darker(colour, 0.5), 0.85)
    ribbon = fill("M420 872h26v74l-13 -16l-13 16z", RED)
    return (
        ribbon
        + pages
        + cover
        + motif
        + stitches
        + band
        + moved(
            cast(box(820, 250, 30, 520, 15), 14)
            + solid(box(820, 250, 30, 470, 15), pen, "volume")
            + fill("M820 720h30l-15 56z", "#d8b98c")
            + fill(box(820, 330, 30, 16), YELLOW),
            angle=8,
            about=(835, 500),
        )
    )


def _grass(colour: str) -> str:
    return "".join(
        line(f"M{490 + 18 * i} 720Q{490 + 22 * i} 520 {490 + 44 * i} {330 + abs(i) * 34}", colour, 8, 0.9)
        for i in range(-4, 5)
    ) + "".join(leaf(490 + 44 * i, 350 + abs(i) * 34, 60, 8 * i, colour, 0.3) for i in range(-4, 5))


def _planner() -> str:
    sprout = "".join(
        line(f"M{x} {y}V{y - 90}", CREAM, 8)
        + leaf(x, y - 60, 70, -48, lighter(YELLOW, 0.2))
        + leaf(x, y - 76, 70, 48, CREAM)
        for x, y in ((400, 520), (510, 460), (610, 520))
    )
    field = "".join(line(f"M330 {560 + 44 * i}q160 {-50 + 8 * i} 330 0", CREAM, 7, 0.85) for i in range(6))
    tabs = "".join(
        fill(box(744, 180 + 96 * i, 44, 70, 10), c) for i, c in enumerate((YELLOW, TEAL, PINK, MOSS, INDIGO, SAND))
    )
    return cast(box(740, 180, 48, 550, 10), 12) + tabs + _notebook(RUST, sprout + field, BLACK)


def _cards() -> str:
    def card(x: float, y: float, angle: float, colour: str, mark: str) -> str:
        return moved(
            lying(box(-150, -210, 300, 420, 8), colour, 14) + line(box(-130, -190, 260, 380, 4), WHITE, 4, 0.7) + mark,
            x,
            y,
            angle,
            about=(0, 0),
        )

    flower = "".join(
        moved(fill("M0 0q-40 -60 0 -110q40 50 0 110z", RED), angle=a, about=(0, 0)) for a in range(0, 360, 60)
    ) + fill(ellipse(0, 0, 24), YELLOW)
    perched = moved(bird(TEAL, YELLOW), 6, -10, 0, 1.25, (0, 0)) + leaf(-10, 130, 80, 70, LEAF)
    heart = fill("M0 80C-150 -20 -90 -120 0 -50C90 -120 150 -20 0 80z", PURPLE) + line("M-60 130H60", PURPLE, 6)
    envelope = (
        lying(box(-220, -150, 440, 300, 8), "#cfa57b", 16)
        + line("M-214 -142L0 30L214 -142", darker("#cfa57b"), 7, 0.7)
        + fill(ellipse(0, 20, 34), RED)
        + line(ellipse(0, 20, 22), lighter(RED), 4)
    )
    return (
        moved(envelope, 330, 720, -10, about=(0, 0))
        + card(330, 350, -12, CREAM, flower)
        + card(690, 370, 10, "#e5eee8", perched)
        + card(640, 680, -4, "#f3e2e6", heart)
    )


def _seed_paper() -> str:
    sheets = "".join(
        moved(
            lying(box(-200, -280, 400, 560, 4), lighter(SAND, 0.3 + 0.1 * i), 9),
            460 + 10 * i,
            500 - 8 * i,
            -9 + 4 * i,
            about=(0, 0),
        )
        for i in range(4)
    )
    seeds = "".join(
        fill(
            ellipse(330 + i * 181.7 % 320, 270 + i * 113.3 % 440, 4 + i % 3, 3),
            ("#7a5a3a", "#a8894f", "#5f7340")[i % 3],
            0.8,
        )
        for i in range(60)
    )
    sprigs = (
        leaf(700, 780, 170, -20, LEAF, 0.5)
        + leaf(706, 776, 150, 38, DARK_LEAF, 0.5)
        + leaf(690, 790, 130, -74, DARK_LEAF, 0.5)
        + leaf(716, 790, 120, 84, LEAF, 0.5)
    )
    twine = line("M262 520q220 -26 452 -8", "#a8763f", 9) + line(
        "M480 508q-70 -80 -90 -20t90 20q70 -80 90 -20t-90 20l-40 70M480 508l50 66", "#a8763f", 8
    )
    return sheets + seeds + twine + sprigs


def _gift_card() -> str:
    card = box(140, 280, 720, 440, 36)
    waves = "".join(
        line(f"M140 {560 + 40 * i}q180 -120 360 0t360 0", lighter(PURPLE, 0.25), 12, 0.35) for i in range(5)
    )
    blossom = "".join(
        moved(fill("M0 0C-60 -40 -50 -130 0 -120C50 -130 60 -40 0 0z", YELLOW), 640, 430, a, about=(0, 0))
        for a in range(0, 360, 72)
    ) + fill(ellipse(640, 430, 24), "#c77c1e")
    ribbon = fill(box(270, 280, 56, 440), YELLOW) + fill(box(270, 280, 56, 440), "url(#sheen)")
    bow = (
        lying("M298 500C200 380 130 440 180 500S230 580 298 500z", YELLOW, 8)
        + lying("M298 500C396 380 466 440 416 500S366 580 298 500z", darker(YELLOW, 0.08), 8)
        + solid(ellipse(298, 500, 34), darker(YELLOW, 0.15))
    )
    return moved(cast(card, 26) + solid(card, PURPLE) + clipped(card, waves) + blossom + ribbon + bow, angle=-8)


DRAWINGS: Mapping[str, Drawing] = {
    "Caderno Capim": Drawing(_notebook(MOSS, _grass(lighter(MOSS, 0.6)), RUST), (420, 400), lies=True),
    "Caderno Capim sem pauta": Drawing(_notebook(SAND, _grass(darker(SAND, 0.55)), TEAL), (420, 400), lies=True),
    "Planner Semeadura": Drawing(_planner(), (560, 400), lies=True),
    "Cartões Boas-novas, 8 unidades": Drawing(_cards(), (620, 480), lies=True),
    "Papel semente, 10 folhas": Drawing(_seed_paper(), (520, 560), lies=True),
    "Vale-presente digital": Drawing(_gift_card(), (420, 500), lies=True),
}
