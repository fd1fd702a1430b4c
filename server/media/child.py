"""Decode and render images; the program of the renderer's children (`server.media.child_pool`).

A request on standard input is the lengths of a JSON object and of the content, then both; so is an answer. The object of an answer has
`refused` (the content is no image that is accepted), `failed` (it needs too much), or the result. The end of the input ends the program.

No other module of the product than its two helpers is imported: what hostile content could read here is this program and the image.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from typing import Any, BinaryIO

import blurhash
import pyvips

from server.media.heic import Heic, HeicError, is_heic
from server.media.sandbox import confine

_LENGTHS = struct.Struct("!II")
_LOADERS = ("Jpeg", "Png", "Webp", "Nsgif", "Heif")
_MIME_TYPES = {
    "jpegload_buffer": "image/jpeg",
    "pngload_buffer": "image/png",
    "webpload_buffer": "image/webp",
    "gifload_buffer": "image/gif",
    "heifload_buffer": "image/avif",
}
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF")
_SAVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "webp": ("webpsave_buffer", {"Q": 80}),
    "jpeg": ("jpegsave_buffer", {"Q": 82, "optimize_coding": True}),
    "png": ("pngsave_buffer", {"compression": 6}),
    # A higher effort takes eight times as long for files that are a tenth smaller.
    "avif": ("heifsave_buffer", {"Q": 55, "compression": "av1", "effort": 2}),
}
_ACCEPTED = "JPEG, PNG, WebP, GIF, AVIF and HEIC images are accepted"
_DAMAGED = "the image is damaged, or its end is missing"
_BLURHASH_SIDE = 32
_WHITE = [255, 255, 255]


class _Refused(Exception):
    """Refuse the content of the request, with a text for people."""


def main() -> None:
    """Answer requests until the input ends."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # uvloop passes on what is inheritable
    limits = json.loads(sys.argv[1])
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    statm = os.open("/proc/self/statm", os.O_RDONLY)
    _permit_loaders()
    # Libraries write warnings about hostile content, in whatever number.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    is_filtered = confine(limits["memory"])
    _answer(answers, {"is_filtered": is_filtered})
    while lengths := requests.read(_LENGTHS.size):
        request_length, content_length = _LENGTHS.unpack(lengths)
        request = json.loads(requests.read(request_length))
        content = requests.read(content_length)
        signal.setitimer(signal.ITIMER_PROF, limits["cpu_seconds"])  # SIGPROF ends the process
        result, rendered = _process(content, request, limits)
        signal.setitimer(signal.ITIMER_PROF, 0)
        result["resident"] = int(os.pread(statm, 100, 0).split()[1]) * os.sysconf("SC_PAGE_SIZE")
        _answer(answers, result, rendered)


def _answer(answers: BinaryIO, result: dict[str, Any], rendered: bytes = b"") -> None:
    encoded = json.dumps(result).encode()
    answers.write(_LENGTHS.pack(len(encoded), len(rendered)) + encoded + rendered)
    answers.flush()


def _permit_loaders() -> None:
    pyvips.cache_set_max(0)
    pyvips.block_untrusted_set(True)
    pyvips.operation_block_set("VipsForeignLoad", True)
    for name in _LOADERS:
        pyvips.operation_block_set(f"VipsForeignLoad{name}", False)


def _process(content: bytes, request: dict[str, Any], limits: dict[str, int]) -> tuple[dict[str, Any], bytes]:
    try:
        info = _read_header(content, limits)
        if "longest" in request:
            return {}, _render(content, request["longest"], request["format"])
        return {**info, "blurhash": _blurhash(content)}, b""
    except _Refused as error:
        return {"refused": str(error)}, b""
    except MemoryError:
        return {"failed": "memory"}, b""
    except HeicError as error:
        return {"failed": "memory"} if error.is_for_want_of_memory else {"refused": _DAMAGED}, b""
    except pyvips.Error as error:
        if "memory" in error.detail.lower():  # libvips: out of memory; libheif: Memory allocation error
            return {"failed": "memory"}, b""
        return {"refused": _DAMAGED}, b""


def _read_header(content: bytes, limits: dict[str, int]) -> dict[str, Any]:
    """Return type, size and frames without decoding; refuse what is over a limit."""
    refused = _find_refused(content)
    if refused:
        raise _Refused(f"{refused} is not accepted as an image; {_ACCEPTED}")
    header = _heic_header(content) if is_heic(content) else _vips_header(content)
    width, height, frames = header["width"], header["height"], header["frames"]
    if width * height > limits["pixels"]:
        megapixels = limits["pixels"] // 1_000_000
        raise _Refused(f"the image has {width} × {height} pixels; at most {megapixels} megapixels are accepted")
    if frames > limits["frames"]:
        raise _Refused(f"the image has {frames} frames; at most {limits['frames']} are accepted")
    return header


def _heic_header(content: bytes) -> dict[str, Any]:
    image = Heic(content)
    return {"mime_type": "image/heic", "width": image.width, "height": image.height, "frames": image.frames}


def _vips_header(content: bytes) -> dict[str, Any]:
    try:
        image = pyvips.Image.new_from_buffer(content, "", access="sequential")
    except pyvips.Error as error:
        known = content.startswith(_SIGNATURES) or content[4:8] == b"ftyp"
        raise _Refused(_DAMAGED if known else f"the content is not an image; {_ACCEPTED}") from error
    width, height = image.width, image.height
    if _number(image, "orientation") >= 5:  # shown on its side (Exif 2.3, table 6)
        width, height = height, width
    frames = _number(image, "n-pages")
    return {"mime_type": _MIME_TYPES[image.get("vips-loader")], "width": width, "height": height, "frames": frames}


def _number(image: pyvips.Image, field: str) -> int:
    return int(image.get(field)) if image.get_typeof(field) else 1


def _find_refused(content: bytes) -> str:
    """Return the name of a well-known format that is not accepted; empty if it is none."""
    start = content[:1024]
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if b"<svg" in text and text.startswith(b"<"):
        return "SVG"
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<!--")):
        return "HTML"
    if text.startswith(b"<?xml"):
        return "XML"
    if b"%PDF-" in start and not start.startswith(_SIGNATURES):
        return "PDF"
    others = {b"II*\0": "TIFF", b"MM\0*": "TIFF", b"BM": "BMP", b"8BPS": "PSD", b"%!PS": "PostScript"}
    others |= {b"\x1f\x8b": "a compressed file", b"PK\x03\x04": "an archive", b"\0\0\x01\0": "ICO"}
    return next((name for signature, name in others.items() if start.startswith(signature)), "")


def _thumbnail(content: bytes, longest: int) -> pyvips.Image:
    """Return the first frame, turned upright, reduced while it is decoded where the format can; in sRGB with 8 bits."""
    if is_heic(content):
        return Heic(content).thumbnail(longest)
    return pyvips.Image.thumbnail_buffer(
        # The argument `fail_on` has no effect on buffers (libvips 8.18).
        content,
        longest,
        height=longest,
        size="down",
        option_string="[fail_on=truncated]",
        output_profile="srgb",
    ).colourspace("srgb")


def _render(content: bytes, longest: int, file_format: str) -> bytes:
    image = _thumbnail(content, longest)
    if file_format == "jpeg" and image.hasalpha():
        image = image.flatten(background=_WHITE)
    saver, options = _SAVERS[file_format]
    rendered: bytes = getattr(image, saver)(keep="none", **options)
    return rendered


def _blurhash(content: bytes) -> str:
    """Return the blurhash; all of the image is decoded for it."""
    image = _thumbnail(content, _BLURHASH_SIDE)
    if image.hasalpha():
        image = image.flatten(background=_WHITE)
    components = (4, 3) if image.width >= image.height else (3, 4)
    pixels = memoryview(image.write_to_memory()).cast("B", (image.height, image.width, 3))
    encoded: str = blurhash.encode(pixels.tolist(), *components)
    return encoded


if __name__ == "__main__":
    # Sent to all processes of a group by a terminal or `timeout`: the server, which they stop, still waits for this one's image.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    main()
