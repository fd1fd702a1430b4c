"""Drawings of kitchen goods."""

from __future__ import annotations

from collections.abc import Mapping

from server.demo.pictures.svg import (
    CLAY,
    CREAM,
    DARK_WOOD,
    LEAF,
    MOSS,
    PALE_WOOD,
    RED,
    WHITE,
    WOOD,
    Drawing,
    Point,
    box,
    cast,
    clipped,
    darker,
    ellipse,
    fill,
    grain,
    ground,
    lathe,
    lathe_path,
    leaf,
    lighter,
    line,
    lying,
    moved,
    repeated,
    seam,
    solid,
    steam,
)


def _board() -> str:
    grip = "q30 0 34 -40q6 -130 26 -150q10 -6 26 0q20 20 26 150q4 40 34 40"
    outline = f"M230 330q0 -50 50 -50h160{grip}h134q50 0 50 50v500q0 50 -50 50H280q-50 0 -50 -50z"
    groove = line(box(276, 330, 448, 504, 30), darker(WOOD, 0.35), 13, 0.75) + line(
        box(280, 335, 440, 496, 28), lighter(WOOD, 0.2), 4, 0.7
    )
    carving = line("M500 150q-16 30 0 60q16 -30 0 -60z", darker(WOOD, 0.5), 5)
    wood = clipped(outline, moved(grain(80, 230, 840, 540, WOOD, 13), angle=90))
    lime = (
        solid(ellipse(610, 700, 74), "#7fa046")
        + fill(ellipse(610, 700, 64), "#eef0c8")
        + "".join(
            moved(fill("M610 696q-22 -30 -14 -50q14 -10 28 0q8 20 -14 50z", "#bfd178"), angle=a, about=(610, 700))
            for a in range(0, 360, 45)
        )
    )
    herbs = (
        leaf(380, 760, 150, 24, LEAF, 0.42)
        + leaf(392, 764, 120, 74, "#4f7a48", 0.42)
        + leaf(372, 752, 120, -28, "#4f7a48", 0.42)
    )
    return (
        cast(outline, 24)
        + solid(outline, WOOD)
        + wood
        + groove
        + carving
        + cast(ellipse(610, 700, 74), 10)
        + lime
        + herbs
    )


def _mortar() -> str:
    pestle = solid("M560 500L700 230q10 -60 60 -50q44 22 10 70L640 540z", PALE_WOOD, "volume") + line(
        "M690 262l56 30", darker(PALE_WOOD), 6, 0.5
    )
    profile: list[Point] = [(500, 190), (520, 192), (640, 180), (730, 116), (760, 92), (790, 110), (836, 150)]
    body = lathe(profile, WOOD, rim=26)
    rings = line("M308 560q192 54 384 0", darker(WOOD), 7, 0.45) + line("M312 584q190 52 376 0", darker(WOOD), 4, 0.35)
    front = clipped(
        "M310 500a190 26 0 0 0 380 0V900H310z",
        fill(lathe_path(profile), WOOD) + fill(lathe_path(profile), "url(#volume)"),
    )
    pepper = "".join(
        solid(ellipse(x, y, 17), colour, "sphere")
        for x, y, colour in ((250, 826, RED), (292, 842, "#7d2a22"), (214, 846, "#d26a34"), (760, 838, RED))
    )
    garlic = solid(
        "M800 846c-60 0 -70 -76 -14 -98q12 -20 14 -44q4 24 16 44c54 22 44 98 -16 98z", CREAM, "volume"
    ) + line("M786 760q-22 40 -8 84M816 760q20 40 8 84", darker(CREAM, 0.2), 3, 0.6)
    return (
        ground(500, 842, 190)
        + pestle
        + fill(ellipse(500, 502, 164, 20), "#5a3a22")
        + body
        + moved(pestle, -4)
        + front
        + rings
        + ground(800, 846, 60)
        + garlic
        + pepper
    )


def _spoons() -> str:
    def spoon(x: float, colour: str, inner: str) -> str:
        handle = f"M{x - 14} 440l-8 400q0 40 22 40t22 -40l-8 -400z"
        head = ellipse(x, 290, 84, 160)
        wood = clipped(head, moved(grain(x - 200, 130, 400, 320, colour, 9), angle=90, about=(x, 290)))
        return cast(handle + head, 18) + solid(handle, colour, "volume") + solid(head, colour) + wood + inner

    hollow = fill(ellipse(500, 286, 62, 132), darker(WOOD, 0.22)) + fill(ellipse(506, 294, 56, 122), darker(WOOD, 0.06))
    holes = "".join(
        solid(ellipse(750, y, r), darker(PALE_WOOD, 0.6), "hollow") for y, r in ((210, 20), (284, 25), (362, 20))
    )
    tasting = fill(ellipse(250, 312, 48, 82), darker(DARK_WOOD, 0.3)) + fill(
        ellipse(254, 318, 43, 74), darker(DARK_WOOD, 0.1)
    )
    return (
        moved(spoon(250, DARK_WOOD, tasting), angle=-9, about=(350, 900))
        + moved(spoon(750, PALE_WOOD, holes), angle=9, about=(650, 900))
        + spoon(500, WOOD, hollow)
    )


def jar(x: float, top: float, content: str, label: str, height: float = 250, half: float = 80, lid: str = WOOD) -> str:
    """Draw a glass jar with its content, a lid and a label in the given colours."""
    bottom = top + height
    profile: list[Point] = [
        (top, half * 0.8),
        (top + 12, half * 0.82),
        (top + 40, half),
        (bottom - 24, half),
        (bottom - 24, half),
        (bottom - 8, half * 0.96),
        (bottom, half * 0.86),
    ]
    outline = lathe_path(profile, x, 0.12)
    filling = clipped(
        outline,
        fill(box(x - half, top + height * 0.2, half * 2, height), content)
        + fill(ellipse(x, top + height * 0.2, half, half * 0.1), lighter(content, 0.25)),
    )
    glass = fill(outline, "#eef4f3", 0.75) + filling + fill(outline, "url(#volume)")
    gloss = line(f"M{x - half * 0.72:.0f} {top + 64:.0f}V{bottom - 40:.0f}", WHITE, half * 0.12, 0.5)
    cover = solid(lathe_path([(top - half * 0.42, half * 0.9), (top + 6, half * 0.88)], x, 0.12), lid, "volume") + fill(
        ellipse(x, top - half * 0.42, half * 0.9, half * 0.11), lighter(lid, 0.3)
    )
    tag = (
        solid(box(x - half * 0.62, top + height * 0.42, half * 1.24, height * 0.3, 8), CREAM, "sheen")
        + fill(ellipse(x, top + height * 0.57, half * 0.24), label)
        if label
        else ""
    )
    return glass + gloss + tag + cover


def _spices() -> str:
    spices = ("#b8402c", "#d79a2b", "#6f7f3f", "#7d4a2c", "#2f2a26", "#cf6a2b")
    rack = solid(box(150, 512, 700, 30, 6), WOOD) + grain(150, 512, 700, 30, WOOD, 2)
    upper = "".join(jar(280 + 220 * i, 330, spices[i], "", 180, 78) for i in range(3))
    lower = "".join(jar(280 + 220 * i, 634, spices[i + 3], "", 180, 78) for i in range(3))
    back = solid(box(130, 240, 28, 610, 8), darker(WOOD, 0.1), "volume") + solid(
        box(842, 240, 28, 610, 8), darker(WOOD, 0.1), "volume"
    )
    return (
        ground(500, 850, 370, 34)
        + upper
        + lower
        + repeated(rack, ((0, 0), (0, 304)))
        + back
        + line("M150 470H850M150 774H850", darker(WOOD), 12)
    )


def _clay_pot() -> str:
    profile: list[Point] = [(520, 270), (560, 292), (650, 316), (760, 272), (832, 180)]
    body = solid(lathe_path(profile), CLAY, "volume")
    handles = "".join(
        line(f"M{x} 590q{60 * s} -6 {66 * s} 56t{-60 * s} 58", darker(CLAY, 0.2), 34) for x, s in ((206, -1), (794, 1))
    )
    lid = solid("M224 516a276 40 0 0 0 552 0q-60 -112 -276 -116t-276 116z", lighter(CLAY, 0.08), "volume") + line(
        "M226 520a276 40 0 0 0 548 0", lighter(CLAY, 0.3), 6, 0.6
    )
    knob = solid(lathe_path([(340, 50), (366, 56), (384, 30), (404, 40)]), lighter(CLAY, 0.12), "volume") + fill(
        ellipse(500, 340, 50, 8), lighter(CLAY, 0.3)
    )
    cloth = solid("M120 846q380 -60 760 0q-40 40 -380 40t-380 -40z", "#c9563f") + line(
        "M160 846q340 -44 680 0", CREAM, 6, 0.8
    )
    gloss = line("M240 640q20 80 80 130", WHITE, 14, 0.18)
    return (
        ground(500, 868, 380, 36)
        + cloth
        + ground(500, 836, 230, 26)
        + handles
        + body
        + gloss
        + lid
        + knob
        + steam(690, 420)
    )


def _apron() -> str:
    body = "M370 250H630L650 400Q680 470 760 490V900H240V490Q320 470 350 400z"
    neck = line("M384 256C380 110 620 110 616 256", darker(MOSS, 0.15), 22)
    ties = line("M244 500Q150 520 120 640M756 500Q850 520 880 640", darker(MOSS, 0.15), 18)
    pockets = "".join(
        lying(box(x, 600, 200, 190, 12), lighter(MOSS, 0.08), 8) + seam(box(x + 10, 612, 180, 168, 8))
        for x in (284, 516)
    )
    hem = seam("M384 272H616M256 884H744") + line(
        "M360 400Q400 480 380 900M640 400Q610 500 624 600", darker(MOSS), 8, 0.18
    )
    spoon = line("M350 620L330 470", PALE_WOOD, 16) + solid(ellipse(326, 430, 28, 48), PALE_WOOD)
    return neck + ties + lying(body, MOSS, 22) + hem + spoon + pockets


DRAWINGS: Mapping[str, Drawing] = {
    "Tábua Cumaru": Drawing(_board(), (560, 640), lies=True),
    "Pilão de goiabeira": Drawing(_mortar(), (520, 600)),
    "Colheres de pau, trio": Drawing(_spoons(), (500, 330), lies=True),
    "Porta-temperos Feira": Drawing(_spices(), (420, 430)),
    "Panela de barro 3 litros": Drawing(_clay_pot(), (400, 580)),
    "Avental Quitanda": Drawing(_apron(), (400, 640), lies=True),
}
