"""Generated images, whole and hostile."""

from __future__ import annotations

import struct
import zlib
from functools import cache
from pathlib import Path

import pyvips


def picture(width: int = 120, height: int = 80) -> pyvips.Image:
    """Return a red image with a blue left half, in sRGB."""
    red = pyvips.Image.black(width, height, bands=3) + [220, 30, 30]
    blue = pyvips.Image.black(width // 2, height, bands=3) + [30, 30, 220]
    return red.insert(blue, 0, 0).cast("uchar").copy(interpretation="srgb")


def encoded(suffix: str, image: pyvips.Image | None = None, **options: object) -> bytes:
    """Return an image in the format of a suffix such as `.jpg`."""
    content: bytes = (image or picture()).write_to_buffer(suffix, **options)
    return content


@cache
def heic(name: str) -> bytes:
    """Return a stored photo as phones take them (tests/media/test_heic.py)."""
    return (Path(__file__).parent / "heic" / f"{name}.heic").read_bytes()


@cache
def slow_picture() -> bytes:
    """Return an image that takes several seconds in AVIF of 2048 pixels."""
    noise = pyvips.Image.gaussnoise(2_500, 2_500, mean=128, sigma=60, seed=1)
    return encoded(".jpg", noise.cast("uchar").copy(interpretation="b-w"))


def png_header(width: int, height: int, pixels: bytes = b"") -> bytes:
    """Return a PNG (8 bits, grey) that says it has so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))

    header = struct.pack("!IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def with_orientation(image: pyvips.Image, orientation: int) -> pyvips.Image:
    """Return the image with an Exif orientation (1 to 8) that isn't applied."""
    turned = image.copy()
    turned.set_type(pyvips.GValue.gint_type, "orientation", orientation)
    return turned


def animation(frames: int) -> bytes:
    """Return an animated GIF whose first frame is red and whose others are grey."""
    first = pyvips.Image.black(8, 8, bands=3) + [220, 30, 30]
    others = [pyvips.Image.black(8, 8, bands=3) + [number % 256] * 3 for number in range(frames - 1)]
    joined = pyvips.Image.arrayjoin([first, *others], across=1).cast("uchar").copy(interpretation="srgb")
    joined.set_type(pyvips.GValue.gint_type, "page-height", 8)
    return encoded(".gif", joined, keep_duplicate_frames=True)
