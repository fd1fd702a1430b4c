"""Logos of the vendors."""

from __future__ import annotations

from collections.abc import Mapping

from server.demo.pictures.svg import (
    BRASS,
    CREAM,
    DARK_LEAF,
    LEAF,
    RUST,
    YELLOW,
    darker,
    ellipse,
    fill,
    leaf,
    line,
    moved,
)


def _cactus() -> str:
    stems = "".join(
        line(path, CREAM, width)
        for path, width in (
            ("M500 780V300", 96),
            ("M500 620H370Q330 620 330 570V470", 70),
            ("M500 540H630Q670 540 670 490V400", 70),
        )
    )
    flowers = "".join(
        moved(
            "".join(moved(fill(ellipse(0, -20, 13, 24), YELLOW), angle=a, about=(0, 0)) for a in (-50, 0, 50)),
            x,
            y,
            about=(0, 0),
        )
        for x, y in ((500, 250), (330, 436), (670, 366))
    )
    ribs = line("M484 330V760M516 330V760M330 490V560M670 420V480", RUST, 5, 0.6)
    return stems + ribs + flowers + line("M300 800H700", CREAM, 22)


def _thrush() -> str:
    body = fill("M260 560C280 380 460 300 600 380L760 380L660 440C700 620 540 740 380 680L190 760z", CREAM)
    wing = fill("M360 560C420 440 560 460 580 560C500 660 420 640 290 690z", "#d97b3a")
    return body + wing + fill(ellipse(620, 412, 16), "#26211f") + line("M450 700v70M520 690v76", CREAM, 16)


def _road() -> str:
    sun = fill(ellipse(500, 380, 120), YELLOW)
    road = fill("M460 460H540L720 800H280z", CREAM) + line("M500 500V560M500 610V680M500 720V790", RUST, 14)
    return (
        sun
        + fill("M160 560L330 390L450 510L560 420L840 600Q840 640 800 700H200Q160 640 160 560z", darker(RUST, 0.35))
        + road
    )


def _mountains() -> str:
    caps = "M400 330L458 417L420 446L390 418L344 418z", "M620 380L666 448L634 468L606 444L572 444z"
    peaks = fill("M170 690L400 330L520 510L620 380L830 690z", CREAM) + "".join(fill(cap, BRASS) for cap in caps)
    return (
        fill(ellipse(680, 300, 66), YELLOW)
        + peaks
        + "".join(leaf(500 + x, 820, 120, angle, LEAF, 0.4) for x, angle in ((-20, -60), (20, 60), (0, 0)))
        + line("M240 740H760", CREAM, 16)
    )


def _ipe() -> str:
    trunk = line("M500 830V470M500 640L392 520M500 600L616 486", CREAM, 34)
    crowns = ((500, 330, 150), (352, 430, 112), (648, 420, 118), (430, 300, 96), (582, 300, 92))
    crown = "".join(fill(ellipse(x, y, radius, radius * 0.86), YELLOW) for x, y, radius in crowns)
    petals = ((420, 330), (540, 270), (620, 400), (350, 440), (500, 400), (690, 450), (570, 360))
    blossom = "".join(fill(ellipse(x, y, 17), darker(YELLOW, 0.18)) for x, y in petals)
    fallen = "".join(fill(ellipse(x, 820, 15, 8), YELLOW) for x in (360, 420, 590, 660))
    return trunk + crown + blossom + line("M300 836H700", CREAM, 22) + fallen


def _sunrise() -> str:
    rays = "".join(
        moved(line("M500 250V190", YELLOW, 22), angle=angle, about=(500, 500)) for angle in range(-72, 73, 24)
    )
    sun = fill(ellipse(500, 500, 170), YELLOW)
    hills = fill("M104 640Q300 480 480 600T896 640A420 420 0 0 1 104 640z", CREAM)
    front = fill("M142 720Q330 640 520 710T858 720A420 420 0 0 1 142 720z", darker(CREAM, 0.22))
    sprig = line("M500 850V690", DARK_LEAF, 16) + "".join(
        leaf(500, 700 + 50 * number, 105, angle, LEAF, 0.5) for number in range(3) for angle in (-58, 58)
    )
    return rays + sun + hills + front + sprig


# Marks and the colours of their discs, by the keys of vendors.
LOGOS: Mapping[str, tuple[str, str]] = {
    "mandacaru": (_cactus(), "#a8512d"),
    "sabia": (_thrush(), DARK_LEAF),
    "rota": (_road(), "#6d4428"),
    "serra": (_mountains(), "#4b6a4a"),
}
# By the keys of stores.
STORE_LOGOS: Mapping[str, tuple[str, str]] = {
    "casa_ipe": (_ipe(), "#3c5448"),
    "serra_alta": (_sunrise(), "#7a4a2b"),
}
