"""Primitives of the drawings. Coordinates are those of a square of 1000 by 1000; colours are six hexadecimal digits with `#`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]

TERRACOTTA, CLAY, RUST = "#c4693f", "#3d3430", "#a8512d"
SAND, LINEN, CREAM = "#dcc39a", "#e9dcc6", "#f8f1e4"
INDIGO, MOSS, LEAF, DARK_LEAF = "#2f4f82", "#73834f", "#5f8a55", "#3f6b48"
WOOD, PALE_WOOD, DARK_WOOD = "#b27c48", "#d9ae77", "#7a4c2b"
LEATHER, DARK_LEATHER, TAN = "#a55c30", "#3f2e27", "#cf9760"
BRASS, BLACK, WHITE = "#cfa64c", "#26211f", "#ffffff"
PURPLE, PINK, YELLOW, RED, TEAL = "#7b2d8b", "#d9778c", "#f0b93a", "#c23b32", "#3c7a7a"

_SHADE = "#1c0f08"


def _gradient(name: str, stops: Sequence[tuple[float, str, float]], direction: str = "", kind: str = "linear") -> str:
    """Return a gradient from its stops: offset, colour, opacity."""
    inner = "".join(f'<stop offset="{a:g}" stop-color="{colour}" stop-opacity="{b:g}"/>' for a, colour, b in stops)
    return f'<{kind}Gradient id="{name}"{direction}>{inner}</{kind}Gradient>'


DEFINITIONS = "<defs>{}</defs>".format(
    "".join(
        (
            # Light comes from the upper left.
            _gradient(
                "volume",
                (
                    (0, "#000", 0.1),
                    (0.09, WHITE, 0.04),
                    (0.26, WHITE, 0.3),
                    (0.52, WHITE, 0),
                    (0.52, _SHADE, 0),
                    (1, _SHADE, 0.36),
                ),
            ),
            _gradient(
                "sheen", ((0, WHITE, 0.22), (0.5, WHITE, 0), (0.5, _SHADE, 0), (1, _SHADE, 0.18)), ' x2=".8" y2="1"'
            ),
            _gradient(
                "sphere", ((0, WHITE, 0.34), (0.45, WHITE, 0), (0.45, _SHADE, 0), (1, _SHADE, 0.34)), ' x2=".7" y2="1"'
            ),
            _gradient("hollow", ((0, "#120a06", 0.62), (1, "#120a06", 0.22))),
            _gradient("fall", ((0, _SHADE, 0.16), (1, _SHADE, 0)), ' x2="0" y2="1"'),
            _gradient("daylight", ((0, WHITE, 0.5), (0.7, WHITE, 0)), ' x2="0" y2="1"'),
            _gradient("ground", ((0, _SHADE, 0.5), (0.55, _SHADE, 0.24), (1, _SHADE, 0)), kind="radial"),
            _gradient("glow", ((0, "#fff3c9", 0.95), (0.35, "#ffe3a0", 0.45), (1, "#ffd98a", 0)), kind="radial"),
        )
    )
)

Shading = Literal["volume", "sheen", "sphere", "hollow", ""]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The object of a picture; `lies` for one seen from above, `focus` is the middle of the close-up.

    `hangs` is for objects without contact with the floor.
    """

    content: str
    focus: Point = (500, 520)
    lies: bool = False
    hangs: bool = False


def number(value: float) -> str:
    """Write a coordinate with one decimal."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour between two."""
    pairs = ((int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def darker(colour: str, share: float = 0.25) -> str:
    """Return a darker, warm tone of a colour."""
    return mix(colour, "#20120a", share)


def lighter(colour: str, share: float = 0.3) -> str:
    """Return a lighter tone of a colour."""
    return mix(colour, "#fff8ec", share)


def fill(path: str, colour: str, opacity: float = 1) -> str:
    """Fill a path without shading."""
    return f'<path d="{path}" fill="{colour}"{_opacity(opacity)}/>'


def solid(path: str, colour: str, shading: Shading = "sheen") -> str:
    """Fill a path, and lay a shading over it."""
    return fill(path, colour) + (fill(path, f"url(#{shading})") if shading else "")


def line(path: str, colour: str, width: float, opacity: float = 1, dash: str = "") -> str:
    """Draw a line with round ends; `dash` as in `stroke-dasharray`, for seams."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{number(width)}" stroke-linecap="round"'
        f' stroke-linejoin="round"{dashes}{_opacity(opacity)}/>'
    )


def seam(path: str, colour: str = "#f1ddb8", width: float = 3.5) -> str:
    """Draw the stitches of a seam."""
    return line(path, colour, width, 0.85, "11 8")


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{opacity:g}"'


def ellipse(x: float, y: float, rx: float, ry: float | None = None) -> str:
    """Return the path of an ellipse or, without `ry`, a circle."""
    ry = rx if ry is None else ry
    a, b = number(rx), number(ry)
    return f"M{number(x - rx)} {number(y)}a{a} {b} 0 1 1 {number(2 * rx)} 0a{a} {b} 0 1 1 {number(-2 * rx)} 0z"


def box(x: float, y: float, width: float, height: float, radius: float = 0) -> str:
    """Return the path of a rectangle with round corners."""
    r = number(radius)
    across, down = number(width - 2 * radius), number(height - 2 * radius)
    return (
        f"M{number(x + radius)} {number(y)}h{across}a{r} {r} 0 0 1 {r} {r}v{down}a{r} {r} 0 0 1 -{r} {r}"
        f"h-{across}a{r} {r} 0 0 1 -{r} -{r}v-{down}a{r} {r} 0 0 1 {r} -{r}z"
    )


def polygon(*points: Point) -> str:
    """Return the path of a polygon."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + "z"


def curve(points: Sequence[Point], *, closed: bool = False) -> str:
    """Return a smooth path through the points (Catmull-Rom); a point that is repeated is a corner."""
    return f"M{number(points[0][0])} {number(points[0][1])}" + _curve_segments(points, closed=closed)


def _curve_segments(points: Sequence[Point], *, closed: bool = False) -> str:
    count, parts = len(points), []
    for i in range(count if closed else count - 1):
        p0 = points[(i - 1) % count] if closed or i else points[0]
        p1, p2 = points[i], points[(i + 1) % count]
        p3 = points[(i + 2) % count] if closed or i + 2 < count else points[-1]
        first = p1[0] + (p2[0] - p0[0]) / 6, p1[1] + (p2[1] - p0[1]) / 6
        second = p2[0] - (p3[0] - p1[0]) / 6, p2[1] - (p3[1] - p1[1]) / 6
        parts.append("C" + " ".join(number(value) for point in (first, second, p2) for value in point))
    return "".join(parts) + ("z" if closed else "")


def lathe_path(profile: Sequence[Point], x: float = 500, tilt: float = 0.14) -> str:
    """Return the outline of a turned body from (y, half width) pairs, from its rim to its foot."""
    right = [(x + half, y) for y, half in profile]
    left = [(x - half, y) for y, half in reversed(profile)]
    rim, foot = profile[0][1], profile[-1][1]
    return (
        f"M{number(right[0][0])} {number(right[0][1])}{_curve_segments(right)}"
        f"A{number(foot)} {number(foot * tilt)} 0 0 1 {number(left[0][0])} {number(left[0][1])}{_curve_segments(left)}"
        f"A{number(rim)} {number(rim * tilt)} 0 0 1 {number(right[0][0])} {number(right[0][1])}z"
    )


def lathe(profile: Sequence[Point], colour: str, x: float = 500, tilt: float = 0.14, rim: float = 12) -> str:
    """Draw a turned, open vessel: body, rim of the given width, and the hollow inside."""
    y, half = profile[0]
    opening = solid(ellipse(x, y, half, half * tilt), lighter(colour, 0.22))
    inside = ellipse(x, y + 1, max(1, half - rim), max(1, (half - rim) * tilt))
    return (
        solid(lathe_path(profile, x, tilt), colour, "volume") + opening + solid(inside, darker(colour, 0.2), "hollow")
    )


def ground(x: float, y: float, rx: float, ry: float | None = None) -> str:
    """Draw the soft shadow below an object that stands, which falls to the right."""
    ry = rx * 0.16 if ry is None else ry
    return fill(ellipse(x + rx * 0.12, y, rx * 1.25, ry * 1.3), "url(#ground)")


def cast(path: str, distance: float = 18) -> str:
    """Draw the shadow of an object that lies flat, in three layers that fade."""
    return "".join(
        f'<g transform="translate({number(distance * step * 0.6)} {number(distance * step)})">{fill(path, "#1c0f08", 0.07)}</g>'
        for step in (0.4, 0.8, 1.25)
    )


def lying(path: str, colour: str, distance: float = 18) -> str:
    """Draw a flat object with its shadow."""
    return cast(path, distance) + solid(path, colour)


def clipped(path: str, content: str) -> str:
    """Cut content at a path."""
    name = f"c{abs(hash_of(path + content)):x}"
    return f'<clipPath id="{name}"><path d="{path}"/></clipPath><g clip-path="url(#{name})">{content}</g>'


def hash_of(text: str) -> int:
    """Return a number that identifies a text, the same in every process."""
    value = 2166136261
    for character in text.encode():
        value = (value ^ character) * 16777619 & 0xFFFFFFFF
    return value


def moved(
    content: str, x: float = 0, y: float = 0, angle: float = 0, scale: float = 1, about: Point = (500, 500)
) -> str:
    """Move, turn (degrees, clockwise) and scale content about a point."""
    cx, cy = about
    return (
        f'<g transform="translate({number(x + cx)} {number(y + cy)}) rotate({angle:g}) scale({scale:g})'
        f' translate({number(-cx)} {number(-cy)})">{content}</g>'
    )


def repeated(content: str, offsets: Iterable[Point]) -> str:
    """Draw content at several offsets."""
    return "".join(f'<g transform="translate({number(x)} {number(y)})">{content}</g>' for x, y in offsets)


def leaf(x: float, y: float, length: float, angle: float, colour: str = LEAF, width: float = 0.34) -> str:
    """Draw a leaf that begins at a point; 0 degrees is upwards."""
    half = length * width / 2
    shape = (
        f"M0 0C{number(half * 1.5)} {number(-length * 0.3)} {number(half)} {number(-length * 0.75)} 0 {number(-length)}"
    )
    other = f"C{number(-half)} {number(-length * 0.75)} {number(-half * 1.5)} {number(-length * 0.3)} 0 0z"
    halves = fill(shape + other, colour) + fill(shape + "z", darker(colour, 0.16))
    rib = line(f"M0 0V{number(-length * 0.9)}", lighter(colour, 0.35), max(1.5, length / 70), 0.7)
    return f'<g transform="translate({number(x)} {number(y)}) rotate({angle:g})">{halves}{rib}</g>'


def frond(start: Point, bend: Point, end: Point, size: float, colour: str = LEAF) -> str:
    """Draw a fern's frond along a quadratic curve."""
    stem = f"M{start[0]} {start[1]}Q{bend[0]} {bend[1]} {end[0]} {end[1]}"
    leaflets = []
    for t in (i / 18 for i in range(2, 19)):
        x, y = (_on_quadratic(t, start[axis], bend[axis], end[axis]) for axis in (0, 1))
        dx, dy = (2 * (1 - t) * (bend[axis] - start[axis]) + 2 * t * (end[axis] - bend[axis]) for axis in (0, 1))
        length = size * (0.35 + math.sin(math.pi * min(1, t * 0.95)) * 0.65)
        leaflets += [_leaflet(x, y, length, math.atan2(dy, dx) + side * 1.08) for side in (-1, 1)]
    # One path: hundreds of elements would take longer than everything else.
    return line(stem, darker(colour, 0.3), 4) + fill("".join(leaflets), colour)


def _on_quadratic(t: float, start: float, bend: float, end: float) -> float:
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t * t * end


def _leaflet(x: float, y: float, length: float, heading: float) -> str:
    def at(along: float, aside: float) -> str:
        cos, sin = math.cos(heading) * length, math.sin(heading) * length
        return f"{number(x + along * cos - aside * sin)} {number(y + along * sin + aside * cos)}"

    return f"M{at(0, 0)}C{at(0.3, 0.28)} {at(0.75, 0.2)} {at(1, 0)}C{at(0.75, -0.2)} {at(0.3, -0.28)} {at(0, 0)}z"


def grain(x: float, y: float, width: float, height: float, colour: str, lines: int = 7) -> str:
    """Draw the grain of a wooden surface, along its width."""
    parts = []
    for i in range(lines):
        level = y + height * (i + 0.6) / lines
        wave = height / lines * (0.3 if i % 2 else -0.35)
        half = number(width / 2)
        path = f"M{number(x)} {number(level)}q{number(width / 4)} {number(wave)} {half} 0t{half} {number(wave / 3)}"
        parts.append(line(path, darker(colour, 0.3), 3, 0.35))
    return "".join(parts)


def steam(x: float, y: float) -> str:
    """Draw steam above a hot vessel."""
    path = f"M{x} {y}c-26 -34 24 -58 0 -96s20 -56 4 -84"
    return line(path, WHITE, 11, 0.55) + repeated(line(path, WHITE, 8, 0.4), ((-46, 22), (48, 14)))
