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


# Marks and the colours of their discs, by the keys of vendors.
LOGOS: Mapping[str, tuple[str, str]] = {
    "mandacaru": (_cactus(), "#a8512d"),
    "sabia": (_thrush(), DARK_LEAF),
    "rota": (_road(), "#6d4428"),
    "serra": (_mountains(), "#4b6a4a"),
}
