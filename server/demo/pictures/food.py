"""Drawings of coffee, cheese and preserves, the goods of the second demo store."""

from __future__ import annotations

import math
from collections.abc import Mapping

from server.demo.pictures.kitchen import jar
from server.demo.pictures.svg import (
    CREAM,
    DARK_LEAF,
    LEAF,
    RED,
    WHITE,
    WOOD,
    YELLOW,
    Drawing,
    box,
    clipped,
    darker,
    ellipse,
    fill,
    grain,
    ground,
    lathe_path,
    leaf,
    lighter,
    line,
    moved,
    solid,
)


def _bean(x: float, y: float, angle: float, colour: str = "#5a3420", scale: float = 1) -> str:
    bean = solid(ellipse(0, 0, 34, 23), colour, "sphere") + line("M-30 2Q-10 -12 0 0T30 -2", darker(colour, 0.5), 5)
    return moved(bean, x, y, angle, scale, (0, 0))


def _coffee(colour: str, mark: str, roast: str) -> str:
    bag = "M290 260L310 230H690L710 260L730 500Q742 700 716 836Q500 862 284 836Q258 700 270 500z"
    top = (
        solid("M300 150H700L694 262H306z", darker(colour, 0.2))
        + line("M306 190H694M304 220H696", darker(colour, 0.5), 4, 0.5)
        + solid(box(420, 176, 160, 30, 8), "#d8cdb8")
    )
    sides = fill("M290 260Q330 500 300 836L284 836Q258 700 270 500z", "#000", 0.14) + fill(
        "M710 260Q670 500 700 836L716 836Q742 700 730 500z", "#000", 0.2
    )
    label = (
        solid(box(340, 380, 320, 330, 20), CREAM, "sheen")
        + line(box(356, 396, 288, 298, 12), colour, 4)
        + clipped(box(362, 402, 276, 286, 10), mark)
    )
    valve = fill(ellipse(500, 320, 20), darker(colour, 0.4)) + fill(ellipse(500, 320, 8), "#0f0a08", 0.6)
    beans = "".join(
        _bean(x, y, a, roast, s)
        for x, y, a, s in (
            (200, 846, 20, 1),
            (262, 868, -30, 1.1),
            (150, 872, 60, 0.9),
            (760, 862, 12, 1.1),
            (830, 846, -40, 1),
            (810, 884, 70, 0.9),
            (330, 890, 5, 1),
        )
    )
    return ground(500, 842, 260, 34) + solid(bag, colour, "volume") + sides + top + valve + label + beans


def _sunrise() -> str:
    rays = "".join(
        moved(fill("M-10 -96L0 -190L10 -96z", YELLOW), 500, 590, a, about=(0, 0)) for a in range(-80, 81, 20)
    )
    return (
        fill(box(340, 380, 320, 330), "#f7d9b0")
        + rays
        + fill(ellipse(500, 590, 84), "#e8842e")
        + fill("M340 600Q420 540 500 592T660 580V710H340z", LEAF)
        + fill("M340 650Q440 600 540 650T660 640V710H340z", DARK_LEAF)
    )


def _mist() -> str:
    hills = fill("M340 560L430 450L510 540L580 470L660 560V710H340z", "#7fa0a0") + fill(
        "M340 610Q440 540 520 604T660 590V710H340z", "#5c8080"
    )
    return (
        fill(box(340, 380, 320, 330), "#dfe9e8")
        + fill(ellipse(590, 440, 32), "#f3d79a")
        + hills
        + "".join(
            line(f"M{x} {y}h{w}", WHITE, 16, 0.75)
            for x, y, w in ((360, 560, 160), (470, 596, 180), (370, 640, 200), (440, 676, 190))
        )
    )


def _stove() -> str:
    flames = "".join(
        fill(f"M{x} 660q-34 -50 0 -110q30 40 18 64q16 -10 16 -28q26 40 -2 74z", c)
        for x, c in ((450, "#e8742e"), (500, YELLOW), (545, "#e8742e"))
    )
    kettle = fill("M440 500q0 -60 60 -60t60 60v16H440z", "#3a322e") + line(
        "M556 480l40 -30M452 452Q500 390 548 452", "#3a322e", 10
    )
    return (
        fill(box(340, 380, 320, 330), "#ecd3b4")
        + fill("M370 516H630V700H370z", "#9c4f34")
        + "".join(line(f"M370 {y}H630", "#c98a6c", 4) for y in (560, 606, 652))
        + fill("M420 680V590a80 60 0 0 1 160 0V680z", "#2b1c15")
        + flames
        + kettle
    )


def _cheese(rind: str, paste: str, holes: bool) -> str:
    wheel = solid(lathe_path([(520, 270), (540, 284), (690, 284), (716, 268)], 480, 0.26), rind, "volume")
    top = fill(ellipse(480, 520, 270, 70), lighter(rind, 0.18)) + fill(ellipse(480, 520, 270, 70), "url(#sheen)")
    notch = "M480 520L640 577Q690 568 722 548V728Q690 752 640 764L480 700z"
    inner = fill(notch, paste) + fill("M480 520L640 577V764L480 700z", lighter(paste, 0.15))
    wedge = (
        solid("M640 800L880 760L902 690L660 716z", lighter(rind, 0.2))
        + solid("M640 800L660 716L902 690V800L680 856z", paste)
        + solid("M660 716L902 690V704L664 732z", rind)
    )
    pores = (
        "".join(
            fill(ellipse(x, y, r, r * 0.8), darker(paste, 0.22), 0.7)
            for x, y, r in (
                (540, 610, 12),
                (590, 680, 15),
                (520, 670, 8),
                (612, 620, 9),
                (740, 760, 11),
                (800, 740, 8),
                (850, 770, 12),
                (710, 800, 8),
            )
        )
        if holes
        else ""
    )
    board = (
        solid(lathe_path([(790, 420), (824, 416)], 500, 0.14), WOOD, "volume")
        + fill(ellipse(500, 790, 420, 59), lighter(WOOD, 0.15))
        + clipped(ellipse(500, 790, 420, 59), grain(80, 740, 840, 110, WOOD, 6))
    )
    rosemary = "".join(
        leaf(180 + 16 * i, 812 - 3 * i, 44, side * 60 + 60, DARK_LEAF, 0.22) for i in range(9) for side in (-1, 1)
    ) + line("M176 816L330 786", "#5a4a32", 5)
    return (
        ground(500, 862, 430, 36)
        + board
        + ground(490, 784, 290, 34)
        + wheel
        + top
        + clipped(notch, inner + fill(notch, "url(#sheen)"))
        + moved(wedge, 16, -8)
        + pores
        + rosemary
    )


def _requeijao() -> str:
    block = (
        solid("M200 560L320 490H800L740 560z", "#d7a46a")
        + solid("M200 560H740V780H200z", "#c58a4c", "sheen")
        + solid("M740 560L800 490V700L740 780z", "#a66d36")
    )
    cut = "".join(
        solid(f"M{x} 590L{x + 40} 566H{x + 70}V760L{x + 30} 780H{x}z", c)
        for x, c in ((800, "#e3b679"), (862, "#dcae70"))
    )
    paper = solid("M150 786Q500 746 900 786L930 838Q500 872 110 838z", "#f2e6cf")
    specks = "".join(
        fill(ellipse(216 + i * 97.3 % 500, 580 + i * 61.7 % 180, 6 + i % 5, 4), "#9a5f2c", 0.5) for i in range(34)
    )
    twine = line("M330 490L270 560V780M690 490L630 560V780", "#8a6a3f", 7)
    knife = moved(
        solid("M0 0H250q60 0 70 34H0z", "#c9ccd0") + solid(box(-180, -4, 186, 44, 16), WOOD, "sheen"),
        560,
        880,
        -4,
        about=(0, 0),
    )
    return ground(500, 842, 420, 40) + paper + block + specks + twine + cut + knife


def _dulce() -> str:
    spoon = (
        line("M700 850L900 800", "#b8bcc0", 20)
        + solid(ellipse(660, 858, 64, 30), "#b8bcc0")
        + solid(ellipse(656, 852, 50, 22), "#b0672c", "sphere")
    )
    body = jar(470, 380, "#a85c24", YELLOW, 460, 190, "#e9dcc6")
    churn = (
        fill("M446 700h48q14 -30 12 -70q-2 -20 -20 -30v-14h-32v14q-18 10 -20 30q-2 40 12 70z", "#8d9aa0")
        + line("M434 640h72", "#6b777c", 5)
        + fill(box(444, 584, 52, 12, 5), "#6b777c")
    )
    ribbon = line("M280 402q190 44 380 0", RED, 10) + line(
        "M470 420q-60 -50 -76 0t76 0q60 -50 76 0t-76 0l-26 46M470 420l32 44", RED, 8
    )
    return ground(480, 842, 220, 34) + body + churn + ribbon + ground(680, 868, 80, 14) + spoon


def _guava() -> str:
    wrap = solid("M140 720L220 600H760L860 720L820 840H180z", "#dcc28c") + "".join(
        line(f"M{160 + 34 * i} {836}L{226 + 27 * i} 606", darker("#dcc28c", 0.4), 4, 0.4) for i in range(20)
    )
    bar = (
        solid("M240 560L330 500H800L740 560z", "#b93a35")
        + solid("M240 560H740V740H240z", "#8f2427", "sheen")
        + solid("M740 560L800 500V680L740 740z", "#6d191d")
    )
    front = solid("M140 720Q500 690 860 720L820 846H180z", "#d2b578") + "".join(
        line(f"M{170 + 34 * i} 724L{190 + 32 * i} 840", darker("#d2b578", 0.4), 4, 0.4) for i in range(20)
    )
    slice_ = solid("M800 640l60 -30h44v140l-58 34h-46z", "#a02c2c")
    ties = line("M330 606V846M660 606V846", "#8a6a3f", 9)
    guava = (
        "".join(solid(ellipse(x, y, 72), "#b4c05a", "sphere") for x, y in ((170, 790),))
        + solid(ellipse(300, 830, 68, 62), "#c7cf74")
        + solid(ellipse(300, 830, 56, 50), "#e88a86")
        + "".join(
            fill(ellipse(300 + 28 * math.cos(a), 830 + 24 * math.sin(a), 5), CREAM) for a in (i * 0.7 for i in range(9))
        )
    )
    gloss = line("M270 590H560", WHITE, 12, 0.2)
    return ground(500, 850, 420, 36) + wrap + bar + gloss + slice_ + front + ties + moved(guava, 10, 30)


def _jam() -> str:
    body = jar(470, 400, "#3d1634", "#5a2350", 440, 176, "#c9a24c")
    cloth = (
        solid("M286 350Q300 270 470 266T654 350Q690 400 640 430Q560 400 470 412T300 430Q250 400 286 350z", "#efe3e6")
        + "".join(fill(ellipse(310 + 52 * i % 320, 300 + i * 37 % 100, 11), "#8a4a80") for i in range(14))
        + line("M300 404q170 -30 340 0", "#8a4a80", 9)
    )
    berries = "".join(
        solid(ellipse(x, y, 42), "#2a1230", "sphere") + fill(ellipse(x - 13, y - 15, 8), WHITE, 0.5)
        for x, y in ((740, 806), (816, 828), (770, 862), (700, 860), (852, 778))
    )
    leaves = leaf(800, 780, 120, 30, LEAF, 0.4) + leaf(760, 780, 110, -30, DARK_LEAF, 0.4)
    return ground(480, 842, 210, 34) + body + cloth + ground(780, 880, 120, 18) + leaves + berries


def _antipasto() -> str:
    body = jar(430, 380, "#8a5a34", "#6a3a78", 460, 180, "#4a4a3a")
    bits = clipped(
        box(256, 500, 348, 320),
        "".join(
            fill(
                ellipse(264 + i * 203.9 % 330, 500 + i * 114.6 % 310, 15 + i % 3 * 6, 10 + i % 2 * 4),
                ("#5a2f5f", "#c99a52", "#7a3a2a", "#d9b26a")[i % 4],
                0.85,
            )
            for i in range(64)
        ),
    )
    label = solid(box(318, 573, 224, 138, 8), CREAM, "sheen") + moved(
        solid("M0 -40C50 -40 60 40 0 60S-50 -40 0 -40z", "#5a2f6a", "sphere")
        + fill("M-22 -40Q0 -70 24 -40Q0 -26 -22 -40z", LEAF),
        430,
        640,
        30,
        about=(0, 0),
    )
    eggplant = (
        solid("M660 780C640 690 740 640 800 690C880 760 900 800 860 846C800 880 690 870 660 780z", "#4b2459", "sphere")
        + fill("M830 700q50 -50 80 -30q-20 50 -54 80q-30 -10 -26 -50z", LEAF)
        + line("M884 690l36 -46", DARK_LEAF, 16)
        + line("M700 780q10 -50 50 -70", WHITE, 12, 0.35)
    )
    toast = solid("M610 850q-6 -50 60 -54t80 50q-4 30 -70 30t-70 -26z", "#d9a866") + fill(
        "M628 842q4 -34 46 -36t56 34q-10 16 -52 16t-50 -14z", "#7a4a34"
    )
    return ground(440, 842, 220, 34) + body + bits + label + ground(780, 858, 130, 18) + eggplant + toast


DRAWINGS: Mapping[str, Drawing] = {
    "Café Amanhecer": Drawing(_coffee("#b5562e", _sunrise(), "#6b3d22"), (500, 540)),
    "Café Neblina": Drawing(_coffee("#4f7577", _mist(), "#8a5a36"), (500, 540)),
    "Café Fogão a lenha": Drawing(_coffee("#3b2a24", _stove(), "#3a2116"), (500, 540)),
    "Queijo meia cura": Drawing(_cheese("#e3b65a", "#f6e3a6", holes=True), (560, 640)),
    "Queijo canastra curado": Drawing(_cheese("#8a5a30", "#eccf86", holes=False), (560, 640)),
    "Requeijão de corte": Drawing(_requeijao(), (500, 640)),
    "Doce de leite": Drawing(_dulce(), (470, 600)),
    "Goiabada cascão": Drawing(_guava(), (480, 640)),
    "Geleia de jabuticaba": Drawing(_jam(), (470, 600)),
    "Antepasto de berinjela": Drawing(_antipasto(), (430, 600)),
}
