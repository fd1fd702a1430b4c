"""Drawings of textiles and clothes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from server.demo.pictures.svg import (
    BLACK,
    CREAM,
    DARK_LEAF,
    INDIGO,
    LEAF,
    LINEN,
    PINK,
    RED,
    RUST,
    SAND,
    TEAL,
    WHITE,
    WOOD,
    YELLOW,
    Drawing,
    box,
    cast,
    clipped,
    curve,
    darker,
    ellipse,
    fill,
    ground,
    leaf,
    lighter,
    line,
    lying,
    moved,
    polygon,
    repeated,
    seam,
    solid,
)


def _blanket() -> str:
    def fold(y: float, height: float, colour: str) -> str:
        shape = box(190, y, 620, height, height / 2)
        ridges = line("".join(f"M{x} {y + 8}v{height - 16}" for x in range(230, 790, 22)), darker(colour), 4, 0.18)
        return (
            solid(shape, colour, "volume")
            + clipped(shape, ridges)
            + line(f"M240 {y + height - 3}H770", darker(colour), 4, 0.35)
        )

    folds = fold(730, 104, SAND) + fold(636, 104, lighter(SAND, 0.25)) + fold(542, 104, SAND)
    top = "M220 548q0 -60 60 -60h440q60 0 60 60v90q-280 30 -560 0z"
    stripes = "".join(
        line(f"M222 {y}q280 26 556 0", colour, width, 0.85)
        for y, colour, width in ((560, RUST, 12), (590, CREAM, 6), (612, RUST, 12))
    )
    fringe = "".join(
        line(
            f"M{x} {636 + 14 * math.sin(math.pi * (x - 220) / 560):.0f}q{-4 + x % 3 * 4} 34 0 60", lighter(SAND, 0.5), 8
        )
        for x in range(228, 780, 17)
    )
    return ground(500, 836, 320, 36) + folds + fringe + solid(top, lighter(SAND, 0.3)) + clipped(top, stripes)


def _cushion() -> str:
    shape = curve(
        [
            (190, 250),
            (190, 250),
            (340, 282),
            (500, 290),
            (660, 282),
            (810, 250),
            (810, 250),
            (782, 400),
            (776, 540),
            (786, 690),
            (816, 840),
            (816, 840),
            (660, 812),
            (500, 806),
            (340, 812),
            (184, 840),
            (184, 840),
            (214, 690),
            (224, 540),
            (218, 400),
            (190, 250),
            (190, 250),
        ]
    )

    def diamond(half: float) -> str:
        return polygon((0, -half), (half, 0), (0, half), (-half, 0))

    motif = line(diamond(62), CREAM, 8, 0.95) + line(diamond(36), YELLOW, 6) + fill(diamond(14), CREAM)
    rows = repeated(motif, ((290 + 140 * i, 340 + 140 * j) for i in range(4) for j in range(4)))
    tassels = "".join(
        line(f"M{x} {y}l{dx} {dy}", YELLOW, 16)
        for x, y, dx, dy in ((190, 250, -34, -26), (810, 250, 34, -26), (816, 840, 20, 12), (184, 840, -20, 12))
    )
    return (
        ground(500, 842, 320, 38)
        + tassels
        + solid(shape, RUST)
        + clipped(shape, rows + fill(ellipse(500, 560, 320, 300), WHITE, 0.06))
        + line("M214 276q286 44 572 0", darker(RUST), 6, 0.3)
        + fill(shape, "url(#sphere)", 0.6)
    )


def _runner() -> str:
    table = solid(box(60, 60, 880, 880, 18), WOOD) + "".join(
        line(f"M60 {y}H940", darker(WOOD), 4, 0.5) for y in (236, 412, 588, 764)
    )
    cloth = box(340, 20, 320, 820)
    lace = "".join(
        fill(ellipse(x, 850, 27, 40), CREAM) + fill(ellipse(x, 850, 13, 20), WOOD) + fill(ellipse(x, 850, 5), CREAM)
        for x in (367, 420, 473, 527, 580, 633)
    )
    lace += "".join(
        fill(ellipse(x, 802, 9), darker(LINEN, 0.2)) + line(f"M{x - 14} 826l14 -14l14 14", darker(LINEN, 0.2), 3)
        for x in range(360, 650, 28)
    )
    vase = (
        cast(ellipse(500, 380, 90), 16)
        + solid(ellipse(500, 380, 90), "#d7cfc4", "sphere")
        + fill(ellipse(500, 380, 40), "#57493f")
    )
    flowers = "".join(leaf(500, 380, 190, a, LEAF if a % 2 else DARK_LEAF, 0.36) for a in range(0, 360, 45)) + "".join(
        moved(
            "".join(moved(fill(ellipse(0, -20, 14, 22), PINK), angle=b, about=(0, 0)) for b in range(0, 360, 60))
            + fill(ellipse(0, 0, 12), YELLOW),
            x,
            y,
            about=(0, 0),
        )
        for x, y in ((440, 330), (560, 340), (500, 430), (580, 430), (430, 420))
    )
    weave = line("M372 20V820M628 20V820", darker(LINEN, 0.2), 4, 0.7) + line("M360 20V820M640 20V820", WHITE, 4, 0.7)
    return table + cast(cloth, 14) + lace + solid(cloth, LINEN) + weave + vase + flowers


def _placemats() -> str:
    def mat(x: float, y: float) -> str:
        rings = ""
        for i in range(11):
            rx, ry = 330 - 28 * i, 236 - 20 * i
            rings += fill(ellipse(x, y, rx, ry), (SAND, darker(SAND, 0.12))[i % 2]) + line(
                ellipse(x, y, rx - 11, ry - 9), darker(SAND, 0.35), 4, 0.5, "14 10"
            )
        return cast(ellipse(x, y, 330, 236), 22) + rings + fill(ellipse(x, y, 330, 236), "url(#sheen)")

    sprig = (
        cast(ellipse(520, 640, 90, 20), 6)
        + leaf(470, 700, 240, 60, DARK_LEAF, 0.26)
        + leaf(490, 690, 180, 30, LEAF, 0.28)
        + leaf(490, 690, 180, 92, LEAF, 0.28)
    )
    return mat(420, 360) + mat(580, 650) + sprig


def bird(colour: str, belly: str) -> str:
    """Draw a bird that looks to the right, about the origin."""
    body = fill("M-70 20C-60 -50 20 -70 60 -30L96 -26L64 -6C60 60 -10 80 -50 50L-130 84z", colour)
    wing = fill("M-40 0C-10 -30 40 -10 34 30C0 50 -40 40 -84 60z", belly)
    return body + wing + fill(ellipse(44, -24, 6), WHITE) + line("M-6 62v34M14 60v34", BLACK, 5)


def _tea_towels() -> str:
    def towel(x: float, colour: str, plumage: str, belly: str, edge: str) -> str:
        shape = f"M{x - 130} 190q130 26 260 0q-8 300 6 560q-136 30 -272 0q14 -260 6 -560z"
        bands = "".join(line(f"M{x - 134} {y}q134 28 268 0", edge, w) for y, w in ((690, 14), (716, 6)))
        birds = "".join(
            moved(bird(plumage, belly), x - 20 * (-1) ** i, 330 + 140 * i, 0, 0.86, (0, 0)) for i in range(3)
        )
        sprigs = "".join(leaf(x + 70 * (-1) ** i, 402 + 140 * i, 70, 40 * (-1) ** i, LEAF) for i in range(2))
        folds = line(f"M{x - 60} 204q-14 260 0 540M{x + 66} 204q12 260 0 540", darker(colour), 10, 0.14)
        return cast(shape, 18) + solid(shape, colour) + clipped(shape, bands + birds + sprigs) + folds

    rod = solid(box(60, 160, 880, 26, 13), WOOD, "sheen")
    pegs = "".join(solid(box(x - 12, 144, 24, 74, 8), lighter(WOOD, 0.3)) for x in (120, 270, 425, 575, 730, 880))
    return (
        towel(195, CREAM, TEAL, YELLOW, TEAL)
        + towel(805, CREAM, INDIGO, PINK, INDIGO)
        + towel(500, "#f3e3c6", RED, YELLOW, RED)
        + rod
        + pegs
    )


def _hammock() -> str:
    posts = solid(box(70, 90, 44, 760, 12), WOOD, "volume") + solid(box(886, 90, 44, 760, 12), WOOD, "volume")
    cloth = "M250 392C380 470 620 470 750 392C760 560 640 720 500 720S240 560 250 392z"
    stripes = "".join(
        line(
            f"M{250 - 4 * i} {392 + 26 * i}C380 {476 + 33 * i} 620 {476 + 33 * i} {750 + 4 * i} {392 + 26 * i}",
            colour,
            w,
            0.9,
        )
        for i, (colour, w) in enumerate(
            ((CREAM, 9), (YELLOW, 16), (CREAM, 7), ("#7fa8c9", 20), (CREAM, 7), (YELLOW, 16), (CREAM, 9))
        )
    )
    fringe = "".join(
        line(
            f"M{500 + 244 * math.sin(a):.0f} {470 + 236 * math.cos(a):.0f}q{6 * math.sin(a * 7):.0f} 30 0 70", CREAM, 7
        )
        for a in (-1.2 + 0.08 * i for i in range(31))
    )
    ropes = "".join(
        line(f"M114 200L{250 + i} {392 + 7 * i}M886 200L{750 - i} {392 + 7 * i}", CREAM, 6) for i in range(0, 20, 4)
    )
    cushion = solid(box(300, 430, 170, 110, 44), PINK, "sheen")
    return (
        ground(92, 850, 60)
        + ground(910, 850, 60)
        + ground(500, 850, 250, 24)
        + posts
        + ropes
        + fringe
        + moved(cushion, angle=24, about=(380, 480))
        + solid(cloth, INDIGO, "volume")
        + clipped(cloth, stripes)
    )


_SHIRT = "M370 190Q500 270 630 190L790 260L900 450L770 520L728 450V860H272V450L230 520L100 450L210 260z"


def _shirt(colour: str, print_: str) -> str:
    neck = fill("M370 190Q500 270 630 190Q600 176 500 176T370 190z", darker(colour, 0.3)) + line(
        "M372 194Q500 284 628 194", darker(colour, 0.12), 16
    )
    folds = line(
        "M272 470q40 120 14 380M728 470q-40 120 -14 380M300 430q20 -70 14 -150M700 430q-20 -70 -14 -150",
        darker(colour),
        10,
        0.14,
    )
    hems = seam("M284 842H716M122 440L232 498M878 440L768 498", darker(colour, 0.3))
    return cast(_SHIRT, 24) + solid(_SHIRT, colour) + clipped(_SHIRT, print_) + folds + hems + neck


def _woodcut() -> str:
    sun = fill(ellipse(500, 450, 76), BLACK) + fill(ellipse(500, 450, 56), CREAM) + fill(ellipse(500, 450, 40), RUST)
    rays = "".join(moved(fill("M-12 -84L0 -130L12 -84z", BLACK), 500, 450, a, about=(0, 0)) for a in range(0, 360, 24))
    hills = fill("M340 650q60 -90 120 -40q70 -80 200 40v50H340z", BLACK) + line(
        "M366 668q60 -50 100 -10M490 668q50 -60 140 0M360 688h280", CREAM, 6
    )
    cactus = "".join(
        line(path, BLACK, 24)
        for path in (
            "M390 640V540",
            "M390 600q-36 0 -36 -46",
            "M390 590q34 0 34 -40",
            "M620 640V560",
            "M620 610q30 0 30 -36",
        )
    )
    return sun + rays + cactus + hills + line(box(330, 300, 340, 420, 4), BLACK, 8)


def _tie_dye() -> str:
    rings = "".join(
        line(
            curve(
                [
                    (
                        500 + r * (1 + 0.07 * math.sin(7 * a + r)) * math.cos(a),
                        520 + r * (1 + 0.07 * math.sin(7 * a + r)) * math.sin(a),
                    )
                    for a in (2 * math.pi * i / 28 for i in range(28))
                ],
                closed=True,
            ),
            colour,
            width,
            opacity,
        )
        for r, colour, width, opacity in (
            (40, "#dfe9f2", 34, 0.9),
            (105, "#8fb0d4", 26, 0.8),
            (170, "#dfe9f2", 22, 0.75),
            (240, "#6d93c0", 34, 0.7),
            (310, "#c6d8ea", 20, 0.6),
            (390, "#7d9fc8", 30, 0.5),
        )
    )
    return rings + fill(ellipse(500, 520, 30), INDIGO)


def _linen_shirt() -> str:
    colour = LINEN
    shape = "M380 180L500 250L620 180L780 250L920 640L800 690L726 480V880H274V480L200 690L80 640L220 250z"
    placket = solid(box(472, 250, 56, 630), lighter(colour, 0.25)) + "".join(
        fill(ellipse(500, y, 13), "#6b4a33") + fill(ellipse(497, y - 3, 4), "#c9a583") for y in range(320, 870, 104)
    )
    collar = lying("M380 176L500 250L420 350L336 214z", lighter(colour, 0.3), 8) + lying(
        "M620 176L500 250L580 350L664 214z", lighter(colour, 0.3), 8
    )
    inner = fill("M388 172Q500 210 612 172L500 250z", darker(colour, 0.3))
    pocket = solid("M580 470h110v110l-55 26l-55 -26z", lighter(colour, 0.12)) + seam(
        "M588 482h94v92l-47 22l-47 -22z", darker(colour, 0.35)
    )
    folds = line(
        "M274 500q50 120 10 370M726 500q-50 120 -10 370M330 330q30 160 10 300M204 640q50 -120 60 -220M796 640q-50 -120 -60 -220",
        darker(colour),
        10,
        0.16,
    )
    weave = line("".join(f"M{x} 170V890" for x in range(90, 920, 14)), darker(colour), 2, 0.1)
    return cast(shape, 24) + solid(shape, colour) + clipped(shape, weave) + folds + pocket + placket + inner + collar


DRAWINGS: Mapping[str, Drawing] = {
    "Manta Geada": Drawing(_blanket(), (480, 620)),
    "Almofada Losango": Drawing(_cushion(), (480, 500)),
    "Caminho de mesa Renda": Drawing(_runner(), (500, 720), lies=True),
    "Jogo americano Palha, par": Drawing(_placemats(), (480, 440), lies=True),
    "Pano de prato Passarada, trio": Drawing(_tea_towels(), (500, 440), lies=True),
    "Rede Varanda": Drawing(_hammock(), (480, 560)),
    "Camiseta Cordel": Drawing(_shirt(CREAM, _woodcut()), (500, 480), lies=True),
    "Camiseta Igarapé": Drawing(_shirt(INDIGO, _tie_dye()), (500, 440), lies=True),
    "Camisa Brisa": Drawing(_linen_shirt(), (520, 400), lies=True),
}
