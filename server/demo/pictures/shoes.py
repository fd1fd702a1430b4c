"""Drawings of shoes: in profile with the toe to the left, or seen from above."""

from __future__ import annotations

import math
from collections.abc import Mapping

from server.demo.pictures.leather import buckle
from server.demo.pictures.svg import (
    BLACK,
    CREAM,
    DARK_LEATHER,
    INDIGO,
    LEATHER,
    LINEN,
    TAN,
    Drawing,
    box,
    cast,
    clipped,
    darker,
    ellipse,
    fill,
    ground,
    lighter,
    line,
    moved,
    seam,
    solid,
)


def _pair(shoe: str, width: float = 84) -> str:
    """Draw the second shoe behind the first, farther away."""
    return (
        ground(470, 806, 360, 32)
        + moved(shoe, width, -58, scale=0.92, about=(500, 800))
        + ground(480, 842, 360, 26)
        + shoe
    )


def _sole(colour: str, height: float = 40, *, grooves: bool = False) -> str:
    path = f"M128 {838 - height}Q420 {846 - height} 846 {820 - height}q14 4 12 {height + 18}H200q-76 2 -72 -{height}z"
    marks = line("".join(f"M{x} 834v-9" for x in range(190, 850, 26)), darker(colour, 0.6), 5, 0.7) if grooves else ""
    return solid(path, colour) + marks


_LOW = "M128 800Q110 720 220 690Q360 650 440 560Q470 520 540 540Q640 580 720 540Q800 510 846 540Q868 660 848 786Q420 812 128 800z"


def _espadrille() -> str:
    rope = (
        solid("M124 790Q420 806 850 770q22 40 6 68H190q-80 0 -66 -48z", "#d9b98a")
        + line("".join(f"M{x} 836l14 -{46 + (x > 700) * 10}" for x in range(150, 850, 22)), "#a8824f", 5, 0.6)
        + line("M134 818Q480 822 860 806", "#a8824f", 4, 0.6)
    )
    upper = solid(_LOW, LINEN) + clipped(
        _LOW, line("".join(f"M{x} 500V820" for x in range(100, 880, 13)), darker(LINEN), 3, 0.16)
    )
    opening = fill(
        "M452 552Q474 526 540 544Q640 584 720 546Q800 516 842 544Q760 580 640 616Q520 620 452 552z", darker(LINEN, 0.55)
    )
    trim = line("M440 562Q520 640 650 622Q770 584 846 544", INDIGO, 11) + line(
        "M250 684Q300 740 280 800", INDIGO, 8, 0.8
    )
    return _pair(rope + upper + opening + trim)


def _ankle_boot() -> str:
    colour = DARK_LEATHER
    upper = "M128 800Q110 716 230 686Q400 650 440 560Q470 440 450 330Q640 290 800 330Q830 500 846 620Q862 720 848 790Q420 812 128 800z"
    elastic = "M560 340Q640 366 720 340Q700 480 640 600Q580 480 560 340z"
    ribs = clipped(elastic, line("".join(f"M{x} 300V620" for x in range(556, 730, 11)), lighter(colour, 0.3), 4, 0.5))
    tabs = solid(box(600, 262, 44, 80, 14), LEATHER) + solid(box(772, 268, 36, 84, 14), LEATHER)
    opening = fill("M450 330Q640 284 800 330Q640 372 450 330z", darker(colour, 0.6)) + line(
        "M452 331Q640 374 798 331", lighter(colour, 0.25), 7, 0.7
    )
    seams = line("M440 560Q540 660 720 640T850 700", darker(colour, 0.5), 6) + seam(
        "M452 548Q548 640 720 624T846 680", TAN
    )
    details = clipped(upper, seams) + opening
    shoe = (
        tabs
        + solid(upper, colour, "sheen")
        + fill("M160 760Q190 706 290 690Q230 730 220 780z", "#fff", 0.14)
        + fill(elastic, darker(colour, 0.45))
        + ribs
        + details
        + _sole(BLACK, 40, grooves=True)
    )
    return _pair(shoe)


def _moccasin() -> str:
    apron = "M150 740Q180 660 300 640Q400 610 448 566Q520 640 470 700Q330 780 190 770z"
    opening = fill(
        "M448 560Q474 528 540 542Q640 584 720 546Q800 516 842 544Q770 588 640 622Q520 626 448 560z", darker(TAN, 0.6)
    )
    saddle = solid("M400 602Q470 556 560 632Q600 720 580 800L430 804Q470 700 400 602z", darker(TAN, 0.16)) + seam(
        "M416 606Q470 576 546 640Q580 720 562 794M446 796Q480 700 420 620"
    )
    bow = line("M470 640q-60 -34 -76 6t76 -6q60 -34 80 4t-80 -4l-30 60M470 640l44 56", LEATHER, 12)
    pleats = "".join(
        line(f"M{150 + 30 * i} {748 - 12 * i + i * i * 0.4:.0f}l-10 26", darker(TAN, 0.45), 4, 0.7) for i in range(9)
    )
    return _pair(
        _sole(DARK_LEATHER, 38)
        + solid(_LOW, TAN)
        + fill(apron, lighter(TAN, 0.2))
        + line("M150 744Q180 664 300 640Q400 612 448 566", darker(TAN, 0.4), 7)
        + pleats
        + opening
        + saddle
        + bow
    )


def _from_above(x: float, angle: float, flip: int, sole: str, straps: str) -> str:
    """Draw a shoe with an open sole, seen from above."""
    outer = (
        "M-110 -330C-20 -400 110 -350 116 -200C120 -80 86 20 92 150C98 290 60 360 0 360"
        "S-100 300 -92 170C-84 40 -150 -60 -146 -180C-144 -250 -140 -300 -110 -330z"
    )
    inner = (
        "M-98 -310C-20 -370 94 -326 98 -196C102 -80 70 20 76 150C80 274 50 338 0 338"
        "S-82 284 -76 170C-68 40 -132 -60 -128 -180C-126 -240 -122 -286 -98 -310z"
    )
    heel = line("M-60 200q60 60 116 0", darker(TAN), 6, 0.4)
    content = cast(outer, 20) + solid(outer, sole) + solid(inner, TAN) + heel + straps
    return f'<g transform="translate({x} 510) rotate({angle}) scale({flip} 1)">{content}</g>'


def _slipper() -> str:
    strap = "M-158 -60Q-20 -270 128 -80L112 60Q-16 -110 -118 90z"
    straps = (
        cast(strap, 12) + solid(strap, LEATHER, "sheen") + seam("M-146 -56Q-20 -248 118 -72M-112 70Q-16 -128 104 44")
    )
    return _from_above(300, -5, 1, BLACK, straps) + _from_above(690, 7, -1, BLACK, straps)


def _sandal() -> str:
    toes, instep = (
        "M-154 -196Q-20 -300 124 -206L118 -106Q-20 -196 -142 -92z",
        "M-146 -40Q-20 -140 112 -50L100 40Q-20 -50 -116 52z",
    )
    ankle = "M-108 128Q-8 60 104 118L102 178Q-8 124 -100 190z"
    straps = "".join(cast(path, 12) + solid(path, LEATHER, "sheen") for path in (toes, instep, ankle))
    seams = seam(
        "M-144 -186Q-20 -286 116 -196M-134 -106Q-20 -208 110 -118M-138 -36Q-20 -128 104 -42M-112 38Q-20 -64 94 26"
    )
    straps += seams + seam("M-100 132Q-8 72 98 124M-94 178Q-8 112 96 168") + buckle(104, 148, 50, 70, 9)
    return _from_above(300, -5, 1, DARK_LEATHER, straps) + _from_above(690, 7, -1, DARK_LEATHER, straps)


def _tall_boot() -> str:
    colour = LEATHER
    upper = "M128 800Q112 720 230 690Q400 660 446 560Q470 440 440 150Q640 110 800 150Q820 400 846 620Q862 720 848 790Q420 812 128 800z"
    wool = "".join(solid(ellipse(x, 150 + 14 * math.sin(x / 30), 40), CREAM, "sphere") for x in range(450, 800, 42))
    seams = (
        seam("M456 548Q548 640 720 624T846 680")
        + line("M446 560Q540 656 720 640T850 700", darker(colour, 0.4), 6)
        + seam("M620 190Q640 400 600 590")
    )
    straps = "".join(
        solid(f"M{x - 6} {y}Q640 {y + 44} {818 + i * 6} {y - 6}l4 46Q640 {y + 96} {x} {y + 48}z", darker(colour, 0.28))
        + buckle(720, y + 44, 54, 66, 8)
        for i, (x, y) in enumerate(((462, 260), (462, 470)))
    )
    return _pair(
        solid(upper, colour, "volume") + clipped(upper, seams) + wool + straps + _sole(DARK_LEATHER, 42, grooves=True),
        70,
    )


DRAWINGS: Mapping[str, Drawing] = {
    "Alpargata Mandioca": Drawing(_espadrille(), (400, 700)),
    "Sandália Retirante": Drawing(_sandal(), (320, 440), lies=True),
    "Botina Curral": Drawing(_ankle_boot(), (600, 560)),
    "Mocassim Domingo": Drawing(_moccasin(), (420, 690)),
    "Chinelo Quintal": Drawing(_slipper(), (320, 440), lies=True),
    "Bota Invernada": Drawing(_tall_boot(), (640, 380)),
}
