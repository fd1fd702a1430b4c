"""Drawings of bags and leather goods."""

from __future__ import annotations

from collections.abc import Mapping

from server.demo.pictures.svg import (
    BLACK,
    BRASS,
    CREAM,
    DARK_LEATHER,
    INDIGO,
    LEATHER,
    SAND,
    TAN,
    TEAL,
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
    lying,
    moved,
    seam,
    solid,
)


def buckle(x: float, y: float, width: float, height: float, weight: float = 9) -> str:
    """Draw a brass buckle about a point."""
    return line(box(x - width / 2, y - height / 2, width, height, 8), darker(BRASS, 0.35), weight + 3) + line(
        box(x - width / 2, y - height / 2, width, height, 8), BRASS, weight
    )


def _satchel(colour: str) -> str:
    strap = (
        line("M222 470C230 60 770 60 778 470", darker(colour, 0.3), 30)
        + line("M222 470C230 60 770 60 778 470", colour, 20)
        + seam("M222 470C230 60 770 60 778 470")
    )
    body = box(180, 430, 640, 400, 60)
    flap = "M170 470q0 -60 60 -60h540q60 0 60 60v120q0 130 -160 140q-170 20 -340 0q-160 -10 -160 -140z"
    rings = "".join(buckle(x, 448, 40, 46) for x in (222, 778))
    tongues = "".join(
        solid(f"M{x - 30} 600h60v150q0 34 -30 40q-30 -6 -30 -40z", darker(colour, 0.22))
        + seam(f"M{x - 20} 610v138q0 22 20 28q20 -6 20 -28v-138")
        + buckle(x, 690, 74, 44)
        + fill(box(x - 4, 676, 8, 36, 3), BRASS)
        for x in (340, 660)
    )
    flap_shadow = clipped(body, moved(fill(flap, "#1c0f08", 0.22), 0, 16))
    stitching = seam("M192 480q0 -48 48 -48h520q48 0 48 48v108q0 112 -142 122q-166 18 -332 0q-142 -10 -142 -122z")
    return (
        ground(500, 834, 330, 36)
        + strap
        + solid(body, darker(colour, 0.14), "volume")
        + seam(box(198, 448, 604, 364, 48))
        + flap_shadow
        + solid(flap, colour)
        + stitching
        + tongues
        + rings
    )


def _backpack() -> str:
    colour = "#4a3a33"
    handle = line("M430 210C430 110 570 110 570 210", darker(colour, 0.3), 26)
    straps = line("M320 300Q180 460 250 800M680 300Q820 460 750 800", darker(colour, 0.25), 34)
    body = "M260 380Q260 190 500 190T740 380V780q0 60 -60 60H320q-60 0 -60 -60z"
    pocket = "M310 600q0 -30 30 -30h320q30 0 30 30v160q0 50 -50 50H360q-50 0 -50 -50z"
    flap = "M250 390Q250 176 500 176T750 390V470q0 46 -70 52q-180 18 -360 0q-70 -6 -70 -52z"
    tongues = "".join(
        solid(f"M{x - 22} 440h44v150q0 24 -22 28q-22 -4 -22 -28z", LEATHER) + buckle(x, 560, 58, 36, 7)
        for x in (390, 610)
    )
    zipper = line("M340 628H660", BRASS, 7, 0.9, "6 7") + solid(box(640, 622, 16, 44, 6), BRASS)
    return (
        ground(500, 842, 270, 34)
        + straps
        + handle
        + solid(body, colour, "volume")
        + solid(pocket, lighter(colour, 0.08))
        + seam("M322 612v146q0 40 40 40h276q40 0 40 -40V612")
        + zipper
        + clipped(body, moved(fill(flap, "#1c0f08", 0.3), 0, 18))
        + solid(flap, lighter(colour, 0.05), "volume")
        + seam("M268 396Q268 194 500 194T732 396V462q0 32 -56 38q-176 18 -352 0q-56 -6 -56 -38z")
        + tongues
    )


def _wallet() -> str:
    back = lying(box(190, 300, 620, 420, 30), darker(TAN, 0.2), 22)
    cards = "".join(
        lying(box(250, y, 500, 200, 16), colour, 5) + fill(box(280, y + 24, 70, 12, 6), CREAM, 0.7)
        for y, colour in ((250, TEAL), (282, "#b5483e"), (314, CREAM))
    )
    front = "M190 400h620v290q0 30 -30 30H220q-30 0 -30 -30z"
    flap = solid("M620 500h210q24 0 24 24v52q0 24 -24 24H620q-50 -4 -50 -50t50 -50z", LEATHER) + seam(
        "M626 512h196q18 0 18 18v40q0 18 -18 18H626q-38 -2 -38 -38t38 -38z"
    )
    snap = solid(ellipse(626, 550, 24), BRASS, "sphere") + line(ellipse(626, 550, 14), darker(BRASS, 0.3), 4)
    coin = solid(ellipse(250, 800, 44), BRASS, "sphere") + line(ellipse(250, 800, 33), darker(BRASS, 0.3), 4)
    other = (
        cast(ellipse(336, 830, 38), 8)
        + solid(ellipse(336, 830, 38), "#b9bcbd", "sphere")
        + line(ellipse(336, 830, 28), "#8a8d90", 4)
    )
    return (
        moved(
            back
            + cards
            + cast(front, 5)
            + solid(front, TAN)
            + seam("M208 416h584v268q0 18 -18 18H226q-18 0 -18 -18z")
            + flap
            + snap,
            angle=-7,
        )
        + cast(ellipse(250, 800, 44), 8)
        + coin
        + other
    )


def _toiletry_bag() -> str:
    body = "M170 520q0 -80 90 -84q240 -20 480 0q90 4 90 84v230q0 90 -100 92H270q-100 -2 -100 -92z"
    top = line("M190 452q310 -40 620 0", darker(SAND, 0.5), 30) + line("M196 452q304 -38 608 0", BRASS, 9, 1, "5 6")
    pull = line("M800 454l44 60", BRASS, 10) + solid(box(826, 506, 34, 90, 14), LEATHER, "volume")
    panel = "M170 640H830v110q0 90 -100 92H270q-100 -2 -100 -92z"
    handle = solid("M120 520h70v140h-70q-34 -70 0 -140z", LEATHER) + seam("M132 536h50v108h-50")
    brush = (
        line("M356 430L300 230", "#d8a56a", 22)
        + solid(box(274, 168, 36, 84, 14), TEAL)
        + solid(box(440, 246, 84, 180, 18), "#e3ece8", "volume")
        + solid(box(456, 206, 52, 46, 8), LEATHER, "volume")
    )
    return (
        ground(500, 842, 330, 36)
        + brush
        + handle
        + solid(body, SAND, "volume")
        + solid(panel, LEATHER, "volume")
        + seam("M176 656H824")
        + top
        + pull
    )


def _belt() -> str:
    rings = ""
    for radius in (310, 236, 162):
        rings += line(ellipse(490, 500, radius), "#1c0f08", 58, 0.14).replace(
            "<path", '<path transform="translate(10 16)"', 1
        )
        rings += (
            line(ellipse(490, 500, radius), DARK_LEATHER, 54)
            + line(ellipse(490, 500, radius - 14), lighter(DARK_LEATHER, 0.25), 8, 0.35)
            + seam(ellipse(490, 500, radius + 19), TAN, 3)
            + seam(ellipse(490, 500, radius - 19), TAN, 3)
        )
    tail = (
        cast(box(480, 783, 400, 54, 20), 12)
        + solid(box(470, 783, 410, 54, 20), DARK_LEATHER)
        + seam("M490 792H860M490 828H860", TAN, 3)
    )
    holes = "".join(fill(ellipse(x, 810, 8), "#0f0a08") for x in range(560, 760, 44))
    closing = (
        cast(box(770, 752, 120, 116, 16), 10)
        + buckle(830, 810, 110, 108, 18)
        + line("M776 810H884", BRASS, 12)
        + solid(box(742, 776, 26, 68, 8), darker(DARK_LEATHER, 0.2))
    )
    return rings + tail + holes + closing


def _suitcase() -> str:
    case = box(130, 340, 740, 490, 46)
    handle = line("M410 338V290q0 -34 34 -34h112q34 0 34 34v48", DARK_LEATHER, 30)
    straps = "".join(
        solid(box(x, 340, 66, 490), darker(LEATHER, 0.4))
        + seam(f"M{x + 10} 350V820M{x + 56} 350V820")
        + buckle(x + 33, 480, 92, 62)
        for x in (250, 684)
    )
    corners = "".join(
        solid(path, DARK_LEATHER)
        for path in (
            "M130 460V386q0 -46 46 -46h74q-10 100 -120 120z",
            "M870 460V386q0 -46 -46 -46h-74q10 100 120 120z",
            "M130 710v74q0 46 46 46h74q-10 -100 -120 -120z",
            "M870 710v74q0 46 -46 46h-74q10 -100 120 -120z",
        )
    )
    seams = line("M130 590H870", darker(LEATHER, 0.4), 8) + seam("M140 574H860M140 606H860")
    lock = (
        solid(box(462, 556, 76, 70, 10), BRASS)
        + fill(ellipse(500, 584, 9), BLACK)
        + fill(box(496, 586, 8, 22, 3), BLACK)
    )
    tag = (
        line("M590 300Q680 320 690 400", TAN, 9)
        + solid(box(660, 390, 66, 110, 14), TAN)
        + fill(box(672, 424, 42, 56, 6), CREAM)
    )
    return ground(500, 834, 380, 36) + handle + solid(case, LEATHER, "sheen") + seams + straps + corners + lock + tag


def _passport() -> str:
    ticket = moved(
        lying(box(420, 170, 300, 560, 10), CREAM, 12)
        + line("M440 300H700M440 340H640M440 240H560", INDIGO, 12, 0.6)
        + line("M430 600H712", darker(CREAM, 0.3), 5, 1, "10 10"),
        angle=12,
    )
    book = (
        lying(box(270, 190, 400, 560, 24), "#26406b", 14)
        + line(ellipse(470, 420, 82), BRASS, 9)
        + line("M388 420H552M470 338V502M410 366q60 40 120 0M410 474q60 -40 120 0", BRASS, 6)
    )
    cover = "M230 330H690q26 0 26 26v470q0 26 -26 26H256q-26 0 -26 -26z"
    strap = (
        solid(box(560, 540, 190, 84, 30), darker(TAN, 0.25))
        + seam(box(570, 550, 170, 64, 24))
        + solid(ellipse(600, 582, 22), BRASS, "sphere")
    )
    globe = line(
        "M330 600a100 100 0 1 1 200 0a100 100 0 1 1 -200 0M430 500v200M330 600h200M352 540q78 46 156 0M352 660q78 -46 156 0",
        darker(TAN, 0.35),
        7,
        0.75,
    )
    return (
        ticket
        + book
        + cast(cover, 22)
        + solid(cover, TAN)
        + seam("M246 346H690q12 0 12 12v466q0 12 -12 12H260q-14 0 -14 -12z")
        + globe
        + strap
    )


DRAWINGS: Mapping[str, Drawing] = {
    "Bolsa Tropeira": Drawing(_satchel(LEATHER), (360, 640)),
    "Mochila Serra": Drawing(_backpack(), (440, 520)),
    "Carteira Troco": Drawing(_wallet(), (560, 520), lies=True),
    "Necessaire Estrada": Drawing(_toiletry_bag(), (640, 580)),
    "Cinto Cravo": Drawing(_belt(), (700, 720), lies=True),
    "Bolsa Tropeira, edição de 2025": Drawing(_satchel("#6b4a3a"), (360, 640)),
    "Mala Trem das Onze": Drawing(_suitcase(), (420, 540)),
    "Porta-passaporte Fronteira": Drawing(_passport(), (480, 560), lies=True),
}
