"""Drawings of ceramics and tableware."""

from __future__ import annotations

import math
from collections.abc import Mapping

from server.demo.pictures.svg import (
    BRASS,
    CREAM,
    DARK_LEAF,
    INDIGO,
    LEAF,
    MOSS,
    PALE_WOOD,
    RED,
    RUST,
    SAND,
    TERRACOTTA,
    WHITE,
    YELLOW,
    Drawing,
    Point,
    box,
    cast,
    clipped,
    curve,
    darker,
    ellipse,
    fill,
    frond,
    ground,
    lathe,
    lathe_path,
    leaf,
    lighter,
    line,
    lying,
    moved,
    repeated,
    solid,
    steam,
)


def _pot_with_plant() -> str:
    leaves = ((-70, 230), (-48, 300), (-24, 350), (0, 370), (26, 340), (50, 290), (72, 220), (-12, 260), (14, 270))
    plant = "".join(leaf(500, 520, size, a, DARK_LEAF if i % 2 else LEAF, 0.36) for i, (a, size) in enumerate(leaves))
    saucer = solid(lathe_path([(812, 190), (836, 176)]), darker(TERRACOTTA, 0.1), "volume")
    body = lathe(
        [(510, 190), (560, 192), (560, 192), (564, 178), (564, 178), (700, 166), (815, 128)], TERRACOTTA, rim=18
    )
    soil = fill(ellipse(500, 514, 168, 22), "#4a3226")
    grooves = line("M326 630q174 44 348 0", darker(TERRACOTTA), 5, 0.4) + line(
        "M332 648q168 42 336 0", darker(TERRACOTTA), 5, 0.3
    )
    return ground(500, 842, 210) + saucer + body + soil + grooves + plant


def _fern_pot() -> str:
    fronds = (
        ((500, 500), (380, 180), (150, 420)), ((500, 500), (620, 180), (850, 420)), ((500, 500), (430, 140), (270, 210)),
        ((500, 500), (570, 140), (730, 210)), ((500, 500), (490, 200), (520, 90)), ((500, 500), (330, 330), (170, 600)),
        ((500, 500), (670, 330), (830, 600)),
    )  # fmt: skip
    plant = "".join(frond(a, b, c, 62, (LEAF, DARK_LEAF)[i % 2]) for i, (a, b, c) in enumerate(fronds))
    saucer = solid(lathe_path([(838, 216), (866, 200)]), darker(TERRACOTTA, 0.1), "volume")
    body = lathe(
        [(490, 172), (520, 176), (520, 176), (524, 158), (524, 158), (600, 208), (720, 208), (842, 150)],
        TERRACOTTA,
        rim=18,
    )
    band = line("M296 640q204 56 408 0", CREAM, 9, 0.7) + line("M292 676q208 58 416 0", CREAM, 5, 0.6)
    return ground(500, 872, 240) + saucer + body + fill(ellipse(500, 494, 148, 19), "#4a3226") + band + plant


def _glazed_vase() -> str:
    profile: list[Point] = [(420, 86), (440, 80), (520, 118), (640, 196), (740, 186), (836, 112)]
    outline = lathe_path(profile)
    drips = "M200 300H800V690q-26 40 -52 6t-50 10q-24 62 -52 8t-56 -6q-34 50 -62 0t-56 10q-26 48 -52 -4t-50 4q-40 60 -70 -8z"
    twigs = "".join(
        line(f"M500 420Q{500 + bend} 280 {end} {top}", "#8b5e3c", 7)
        + "".join(
            fill(ellipse(500 + (end - 500) * t + bend * 0.5 * (1 - t), 420 - (420 - top) * t, 17), colour)
            for t in (0.55, 0.78, 1)
        )
        for bend, end, top, colour in (
            (-10, 420, 120, "#d99a4e"),
            (20, 560, 90, "#e3b062"),
            (-60, 330, 220, "#c9803c"),
            (60, 660, 210, "#d99a4e"),
        )
    )
    glaze = clipped(
        outline, fill(drips, INDIGO) + fill(drips, "url(#volume)") + line("M396 500q-70 90 -60 170", WHITE, 14, 0.4)
    )
    body = solid(outline, SAND, "volume")
    opening = fill(ellipse(500, 420, 86, 12), lighter(INDIGO, 0.2)) + fill(ellipse(500, 421, 74, 9), darker(SAND, 0.6))
    return ground(500, 842, 170) + twigs + body + glaze + opening


def _moringa() -> str:
    body = lathe([(372, 52), (420, 56), (470, 66), (560, 160), (680, 196), (780, 168), (842, 110)], RUST, rim=10)
    cup = solid(lathe_path([(262, 82), (300, 84), (372, 62)]), lighter(RUST, 0.12), "volume")
    top = fill(ellipse(500, 262, 82, 11), lighter(RUST, 0.3))
    bands = line("M318 640q182 52 364 0", CREAM, 8, 0.75) + line("M312 668q188 54 376 0", CREAM, 4, 0.6)
    dots = repeated(
        fill(ellipse(0, 0, 8), CREAM, 0.8),
        [(500 + 176 * math.sin(a), 612 + 26 * math.cos(a)) for a in (-1, -0.6, -0.2, 0.2, 0.6, 1)],
    )
    glass = ground(770, 846, 66) + solid(lathe_path([(720, 66), (842, 50)], 768), lighter(RUST, 0.12), "volume")
    water = fill(ellipse(768, 720, 66, 9), lighter(RUST, 0.3)) + fill(ellipse(768, 721, 56, 7), "#9fc3c9")
    return ground(500, 848, 180) + body + bands + dots + cup + top + glass + water


def _bull() -> str:
    body = curve(
        [(250, 560), (300, 470), (440, 440), (620, 452), (730, 500), (750, 610), (740, 690), (260, 690)], closed=True
    )
    cloth = "M290 476C420 410 640 420 742 520L752 716Q640 760 520 744T270 716z"
    stars = "".join(
        moved(fill("M0 -34L10 -11L34 -10L15 6L21 30L0 16L-21 30L-15 6L-34 -10L-10 -11z", colour), x, y, about=(0, 0))
        for x, y, colour in (
            (370, 540, YELLOW),
            (500, 510, CREAM),
            (630, 545, YELLOW),
            (440, 640, "#e98a6a"),
            (575, 640, "#7fb3a8"),
            (690, 630, CREAM),
            (325, 640, "#7fb3a8"),
        )
    )
    fringe = "".join(
        line(f"M{x} {726 + 14 * math.sin(x / 70):.0f}v44", (YELLOW, RED, "#7fb3a8", CREAM)[i % 4], 13)
        for i, x in enumerate(range(286, 750, 21))
    )
    legs = "".join(solid(box(x, 690, 54, 148, 20), darker(RUST, 0.35), "volume") for x in (300, 380, 600, 680))
    head = curve(
        [(150, 470), (190, 420), (270, 420), (320, 470), (300, 560), (262, 640), (200, 640), (168, 560)], closed=True
    )
    horns = line("M180 436Q110 400 112 300", CREAM, 30) + line("M296 436Q366 400 360 300", CREAM, 30)
    face = fill(ellipse(200, 510, 13), "#1d1512") + fill(ellipse(270, 510, 13), "#1d1512")
    muzzle = (
        solid(ellipse(232, 612, 56, 44), lighter(RUST, 0.35))
        + fill(ellipse(214, 612, 8), "#4a2a1a")
        + fill(ellipse(250, 612, 8), "#4a2a1a")
    )
    flower = "".join(
        moved(fill(ellipse(0, -20, 15), RED), 236, 444, angle, about=(0, 0)) for angle in range(0, 360, 72)
    ) + fill(ellipse(236, 444, 11), YELLOW)
    tail = line("M748 520q70 40 52 150", darker(RUST, 0.3), 15) + fill(ellipse(800, 690, 20, 34), "#2b1d17")
    dress = fill(cloth, "#8e2f4f") + fill(cloth, "url(#sheen)") + line("M284 500C420 436 640 440 740 536", YELLOW, 9)
    return (
        ground(510, 840, 330, 36)
        + tail
        + legs
        + solid(body, RUST)
        + dress
        + stars
        + fringe
        + horns
        + solid(head, darker(RUST, 0.1))
        + face
        + muzzle
        + flower
    )


def _incense() -> str:
    tray = curve(
        [(170, 800), (330, 742), (560, 742), (760, 780), (850, 806), (740, 836), (540, 856), (320, 846)], closed=True
    )
    veins = line("M190 800Q500 786 830 806", darker(MOSS), 6, 0.6) + "".join(
        line(f"M{x} 795q44 {24 * side} 84 {26 * side}", darker(MOSS), 4, 0.45)
        for x in (280, 400, 520, 640)
        for side in (-1, 1)
    )
    stick = (
        line("M300 790L640 380", "#6a4a35", 9)
        + line("M560 476L640 380", "#3b2a22", 12)
        + fill(ellipse(642, 378, 9), "#ff8a3c")
    )
    smoke = line("M648 356c-60 -70 60 -110 6 -180s40 -90 10 -130", WHITE, 12, 0.6) + line(
        "M652 350c30 -60 70 -70 44 -140", WHITE, 7, 0.4
    )
    foot = solid(ellipse(306, 786, 36, 16), lighter(MOSS, 0.25))
    cones = "".join(
        solid(f"M{x} 812l26 -70l26 70a26 9 0 0 1 -52 0z", c, "volume") for x, c in ((610, "#9a6a4a"), (676, "#7d5138"))
    )
    return ground(510, 850, 330, 34) + solid(tray, MOSS) + veins + foot + stick + smoke + cones


def _irregular(x: float, y: float, radius: float, share: float = 0.012) -> str:
    points = [
        (
            x + radius * (1 + share * math.sin(5 * a) + share * math.cos(3 * a + 1)) * math.cos(a),
            y + radius * (1 + share * math.sin(5 * a)) * math.sin(a),
        )
        for a in (2 * math.pi * i / 24 for i in range(24))
    ]
    return curve(points, closed=True)


def _plate(x: float, y: float, radius: float, well: float, colour: str = SAND) -> str:
    speckles = "".join(
        fill(
            ellipse(x + radius * r * math.cos(i * 2.4), y + radius * r * math.sin(i * 2.4), 3 + i % 3),
            darker(colour, 0.5),
            0.4,
        )
        for i, r in enumerate([0.2 + 0.74 * ((i * 37) % 50) / 50 for i in range(46)])
    )
    rim = line(_irregular(x, y, radius - 5), darker(colour, 0.5), 8, 0.55)
    inner = fill(ellipse(x, y, well), darker(colour, 0.08)) + fill(
        ellipse(x + 5, y + 8, well - 7), lighter(colour, 0.25)
    )
    return lying(_irregular(x, y, radius), lighter(colour, 0.12), 26) + inner + speckles + rim


def _napkin(x: float, y: float, angle: float, colour: str) -> str:
    cloth = lying(box(-120, -250, 240, 500, 6), colour, 10) + line(
        "M-92 -222H92V222H-92z", lighter(colour, 0.6), 4, 0.8
    )
    return moved(cloth + line("M0 -250V250", darker(colour), 3, 0.25), x, y, angle, about=(0, 0))


def _soup_plate() -> str:
    soup = fill(ellipse(500, 500, 224), darker(SAND, 0.35)) + solid(ellipse(503, 506, 214), "#e08a35", "sheen")
    swirl = line("M400 470q60 -70 130 -20t110 40", "#f7e3bd", 13, 0.85) + line(
        "M430 580q60 40 140 -10", "#f7e3bd", 9, 0.7
    )
    herbs = "".join(
        leaf(x, y, 46, a, LEAF, 0.5)
        for x, y, a in ((520, 520, 20), (546, 530, 80), (512, 548, -60), (420, 540, -20), (590, 450, 50))
    )
    return _napkin(770, 560, 14, "#b9c4ae") + _plate(500, 500, 350, 236) + soup + swirl + herbs


def _dish(x: float, y: float, half: float, colour: str) -> str:
    side = solid(lathe_path([(y, half), (y + 12, half * 0.94), (y + 26, half * 0.62)], x, 0.17), colour, "volume")
    return (
        side
        + fill(ellipse(x, y, half, half * 0.17), lighter(colour, 0.35))
        + fill(ellipse(x, y + 3, half * 0.74, half * 0.11), darker(colour, 0.06))
    )


def _set() -> str:
    flat = "".join(_dish(300, 800 - 27 * i, 226, SAND) for i in range(4))
    deep = "".join(_dish(736, 800 - 44 * i, 190, lighter(SAND, 0.2)) for i in range(4))
    small = "".join(_dish(300, 676 - 25 * i, 158, lighter(SAND, 0.35)) for i in range(4))
    sprig = frond((736, 650), (740, 520), (850, 420), 46) + frond((736, 650), (690, 540), (640, 450), 40, DARK_LEAF)
    return ground(300, 830, 220, 34) + ground(736, 832, 170, 32) + flat + small + deep + sprig


def _mug() -> str:
    handle = "M660 560C800 540 812 760 640 752"
    ring = line(handle, darker(INDIGO, 0.12), 46) + line(handle, lighter(INDIGO, 0.18), 14, 0.5)
    profile: list[Point] = [(500, 186), (520, 186), (690, 184), (800, 168), (836, 130)]
    outline = lathe_path(profile)
    body = lathe(profile, INDIGO, rim=16)
    bottom = clipped(
        outline,
        fill("M200 772q150 -26 300 8t300 -14V900H200z", SAND)
        + fill("M200 772q150 -26 300 8t300 -14V900H200z", "url(#volume)"),
    )
    coffee = fill(ellipse(500, 506, 160, 20), "#4a2a18") + line("M390 506q60 14 120 6", "#a8764e", 5, 0.7)
    dots = repeated(
        fill(ellipse(0, 0, 5), WHITE, 0.5), [(336 + i * 192.4 % 328, 556 + i * 77.3 % 200) for i in range(34)]
    )
    return ground(510, 846, 200) + ring + body + bottom + dots + coffee + steam(500, 470)


def _salad_bowl() -> str:
    profile: list[Point] = [(560, 300), (580, 300), (700, 262), (800, 170), (836, 120)]
    greens = "".join(
        leaf(
            500 + 240 * math.sin(i * 1.9),
            574 - 10 * (i % 3),
            130 + 22 * (i % 4),
            62 * math.sin(i * 1.9),
            (LEAF, "#8bb05a", DARK_LEAF, "#a9c46c")[i % 4],
            0.62,
        )
        for i in range(22)
    )
    tomatoes = "".join(
        solid(ellipse(x, y, 40), "#d24a34", "sphere") + fill(ellipse(x - 12, y - 14, 8), WHITE, 0.5)
        for x, y in ((380, 520), (560, 496), (664, 544))
    )
    front = clipped("M150 560a350 46 0 0 0 700 0V900H150z", solid(lathe_path(profile), MOSS, "volume"))
    gloss = line("M262 640q30 90 110 150", WHITE, 16, 0.3)
    lip = line("M200 562A300 42 0 0 0 800 562", lighter(MOSS, 0.45), 9)
    spoon = line("M720 540L868 330", PALE_WOOD, 24) + line("M764 548L930 372", darker(PALE_WOOD, 0.15), 22)
    return ground(500, 842, 220) + lathe(profile, MOSS) + spoon + greens + tomatoes + front + gloss + lip


def _cutlery() -> str:
    def piece(x: float, head: str, tines: str = "") -> str:
        handle = f"M{x - 11} 470q-10 200 -16 330q0 44 27 44t27 -44q-6 -130 -16 -330z"
        return cast(head + handle, 14) + solid(handle, BRASS, "volume") + solid(head, BRASS, "sheen") + tines

    def fork(x: float) -> str:
        head = (
            f"M{x - 46} 170q-6 190 4 220t32 90h20q22 -60 32 -90t4 -220h-14l-4 150h-13l-3 -150h-14l-3 150h-13l-4 -150z"
        )
        return piece(x, head)

    def knife(x: float) -> str:
        return piece(x, f"M{x - 22} 480V210q0 -60 46 -70q10 120 4 340z")

    def spoon(x: float, size: float) -> str:
        return piece(
            x,
            f"M{x - 10} 480q-6 -60 -{size} -130q-30 -150 {size + 10} -180q{size + 40} 30 {size + 10} 180q-{size - 10} 70 -{size} 130z",
        )

    linen = lying(box(130, 90, 740, 820, 10), "#7d8f86", 16) + line("M156 116H844V884H156z", CREAM, 5, 0.7, "2 12")
    return linen + fork(270) + knife(425) + spoon(575, 42) + moved(spoon(740, 34), 0, 60, scale=0.86, about=(740, 500))


DRAWINGS: Mapping[str, Drawing] = {
    "Vaso Jurema": Drawing(_pot_with_plant(), (500, 600)),
    "Vaso Jurema grande": Drawing(_fern_pot(), (500, 620)),
    "Vaso Umbu esmaltado": Drawing(_glazed_vase(), (500, 640)),
    "Moringa Sertão": Drawing(_moringa(), (520, 600)),
    "Escultura Bumba meu boi": Drawing(_bull(), (360, 540)),
    "Incensário Folha seca": Drawing(_incense(), (520, 720)),
    "Prato raso Agreste": Drawing(_napkin(780, 500, -8, "#8fa3a6") + _plate(480, 500, 370, 262), (320, 400), lies=True),
    "Prato fundo Agreste": Drawing(_soup_plate(), (420, 420), lies=True),
    "Conjunto Agreste, 12 peças": Drawing(_set(), (400, 700)),
    "Caneca Sereno": Drawing(_mug(), (540, 620)),
    "Saladeira Açude": Drawing(_salad_bowl(), (480, 600)),
    "Jogo de talheres em latão, 16 peças": Drawing(_cutlery(), (380, 360), lies=True),
}
