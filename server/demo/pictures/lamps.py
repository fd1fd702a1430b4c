"""Drawings of lamps."""

from __future__ import annotations

import math
from collections.abc import Mapping

from server.demo.pictures.svg import (
    BLACK,
    BRASS,
    PALE_WOOD,
    SAND,
    WOOD,
    Drawing,
    Point,
    box,
    clipped,
    darker,
    ellipse,
    fill,
    ground,
    lathe_path,
    line,
    moved,
    solid,
)


def _cord(x: float, end: float) -> str:
    return line(f"M{x} 0V{end}", BLACK, 6) + solid(box(x - 16, end - 44, 32, 46, 6), BRASS, "volume")


def _lantern() -> str:
    sphere = ellipse(500, 500, 290, 262)
    ribs = "".join(
        line(f"M{500 - w:.0f} {y}Q500 {y + 34} {500 + w:.0f} {y}", "#c9a873", 4, 0.75)
        for y in range(270, 740, 36)
        if (w := 290 * math.sqrt(max(0, 1 - ((y - 500) / 262) ** 2))) > 40
    )
    caps = solid(box(420, 236, 160, 22, 8), WOOD, "volume") + solid(box(430, 744, 140, 20, 8), WOOD, "volume")
    return (
        _cord(500, 240)
        + fill(ellipse(500, 500, 480), "url(#glow)")
        + solid(sphere, "#fdf1d3", "sphere")
        + fill(ellipse(500, 520, 220), "url(#glow)")
        + ribs
        + caps
    )


def _nest_lamp() -> str:
    shade = "M350 220H650L760 500H240z"
    rising = "".join(f"M{240 + 26 * i} 510L{350 + 30 * i} 210" for i in range(-6, 21))
    falling = "".join(f"M{760 - 26 * i} 510L{650 - 30 * i} 210" for i in range(-6, 21))
    weave = line(rising, darker(PALE_WOOD, 0.3), 7, 0.6) + line(falling, darker(PALE_WOOD, 0.42), 7, 0.5)
    bands = line("".join(f"M240 {y}H760" for y in range(220, 500, 28)), darker(PALE_WOOD, 0.2), 6, 0.5)
    light = fill(ellipse(500, 400, 200, 150), "url(#glow)")
    base = solid(
        lathe_path([(500, 20), (560, 24), (600, 70), (660, 92), (730, 50), (780, 60), (836, 130)]), WOOD, "volume"
    ) + line("M412 640q88 22 176 0", darker(WOOD), 5, 0.5)
    return (
        fill(ellipse(500, 420, 440), "url(#glow)")
        + ground(500, 842, 170)
        + base
        + solid(shade, PALE_WOOD, "sheen")
        + clipped(shade, weave + bands + light)
        + line("M350 220H650M240 500H760", darker(PALE_WOOD, 0.4), 14)
    )


def _gourd() -> str:
    profile: list[Point] = [
        (230, 34),
        (280, 60),
        (340, 96),
        (400, 110),
        (470, 150),
        (580, 214),
        (690, 190),
        (760, 100),
        (776, 40),
    ]
    outline = lathe_path(profile, tilt=0.06)
    holes = ""
    for ring, (y, count) in enumerate(((350, 5), (420, 6), (490, 7), (550, 9), (610, 10), (670, 9), (720, 6))):
        half = 190 * math.sin(math.pi * (y - 200) / 760) + (12 if y > 520 else -40)
        for i in range(count):
            x = 500 + half * math.sin((i - (count - 1) / 2) * 2.4 / count)
            holes += fill(ellipse(x, y + (ring % 2) * 6, 8 + (i + ring) % 3 * 3), "#fff0b8")
    stars = "".join(
        fill(
            ellipse(
                500 + 440 * math.cos(i * 2.4) * (0.7 + 0.3 * (i % 3) / 2),
                520 + 400 * math.sin(i * 2.4) * (0.7 + 0.3 * (i % 2)),
                7 + i % 4 * 2,
            ),
            "#fff4cf",
            0.75,
        )
        for i in range(34)
    )
    return (
        fill(ellipse(500, 540, 480), "url(#glow)")
        + stars
        + _cord(500, 232)
        + solid(outline, "#b5733a", "sphere")
        + holes
    )


def _moon() -> str:
    plate = solid(ellipse(500, 480, 230), "#efe3c8", "sphere")
    crescent = fill(ellipse(500, 480, 230), darker(SAND, 0.3)) + fill(ellipse(500, 480, 230), "url(#sheen)")
    craters = "".join(
        fill(ellipse(x, y, r), "#cdbb96", 0.7) + fill(ellipse(x + 4, y + 5, r * 0.84), "#e6d8b8", 0.9)
        for x, y, r in ((430, 400, 34), (560, 520, 46), (470, 590, 24), (590, 390, 20), (392, 510, 18))
    )
    return (
        fill(ellipse(500, 480, 500), "url(#glow)")
        + fill(ellipse(500, 480, 360), "url(#glow)")
        + moved(crescent, 14, 18)
        + plate
        + craters
    )


def _string_lights() -> str:
    bulbs, rows = "", ((180, 0.0, 250), (390, 0.5, 240), (620, 0.0, 210))
    cables = ""
    for y, shift, sag in rows:
        cables += line(f"M-20 {y}Q500 {y + sag} 1020 {y - 40}", BLACK, 7)
        for i in range(6):
            t = (i + 0.5 + shift * 0.8) / 6
            if t > 1:
                continue
            x = -20 + 1040 * t
            level = (1 - t) ** 2 * y + 2 * t * (1 - t) * (y + sag) + t * t * (y - 40)
            bulb = f"M{x - 13:.0f} {level + 36:.0f}c-34 34 -30 84 13 88c43 -4 47 -54 13 -88z"
            bulbs += (
                fill(ellipse(x, level + 84, 96), "url(#glow)")
                + solid(box(x - 15, level, 30, 40, 6), BLACK)
                + fill(bulb, "#ffe6a3")
                + line(f"M{x - 7:.0f} {level + 60:.0f}q7 44 14 0", "#f29a2e", 4)
            )
    return cables + bulbs


DRAWINGS: Mapping[str, Drawing] = {
    "Luminária Balão": Drawing(_lantern(), (500, 500), hangs=True),
    "Abajur Ninho": Drawing(_nest_lamp(), (500, 420)),
    "Pendente Cabaça": Drawing(_gourd(), (500, 560), hangs=True),
    "Arandela Lua": Drawing(_moon(), (500, 480), hangs=True),
    "Varal de luzes Quermesse": Drawing(_string_lights(), (500, 400), hangs=True),
}
