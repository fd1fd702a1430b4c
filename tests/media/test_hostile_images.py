"""Hostile files are refused with a text of their own, and end nothing but their own request."""

from __future__ import annotations

import asyncio
import random
import zlib

import pytest
import pyvips

from domain.media.renderer import ImageError, NotAnImage, RenderedFormat, RendererFailed
from server.media.child_pool import Renderer, RendererLimits
from tests.media.pictures import animation, encoded, picture, png_header, slow_picture

ACCEPTED = "JPEG, PNG, WebP, GIF, AVIF and HEIC images are accepted"
DAMAGED = "the image is damaged, or its end is missing"
SUFFIXES = (".jpg", ".png", ".webp", ".gif", ".avif")


async def _refusal(renderer: Renderer, content: bytes) -> str:
    """Return the text of the refusal, which is the same for facts and for sizes."""
    with pytest.raises(NotAnImage) as inspected:
        await renderer.inspect(content)
    with pytest.raises(NotAnImage) as rendered:
        await renderer.render(content, 64, RenderedFormat.WEBP)
    assert inspected.value.message == rendered.value.message
    return inspected.value.message


@pytest.mark.parametrize(
    "name, content",
    [
        ("SVG", b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><script>alert(1)</script></svg>"),
        ("SVG", b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<!-- drawn --><svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("XML", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>"),
        ("HTML", b"  <!DOCTYPE html><script>alert(1)</script>"),
        ("HTML", b"<script>alert(1)</script>"),
        ("PDF", b"%PDF-1.7\n1 0 obj\n<< /OpenAction << /S /JavaScript >> >>"),
        ("PDF", b"\n\n%PDF-1.4"),
        ("PostScript", b"%!PS-Adobe-3.0\n(x) run"),
        ("TIFF", b"II*\0\x08\0\0\0"),
        ("BMP", b"BM\x9a\0\0\0"),
        ("an archive", b"PK\x03\x04\x14\0"),
        ("a compressed file", b"\x1f\x8b\x08\0"),
    ],
)
async def test_other_formats_are_refused_by_name(renderer, name, content):
    assert await _refusal(renderer, content) == f"{name} is not accepted as an image; {ACCEPTED}"


@pytest.mark.parametrize("content", [b"alert(1)//", b"\0" * 1000, b"P6 2 2 255 aaabbbcccddd", b"#!/bin/sh\nid"])
async def test_content_of_no_known_format_is_refused(renderer, content):
    assert await _refusal(renderer, content) == f"the content is not an image; {ACCEPTED}"


async def test_an_empty_file_is_refused(renderer):
    assert await _refusal(renderer, b"") == "the file is empty"


@pytest.mark.parametrize("suffix", [".tif", ".v", ".csv", ".mat"])
async def test_formats_of_the_library_that_are_not_listed_are_refused(renderer, suffix, tmp_path):
    file = tmp_path / f"image{suffix}"
    await asyncio.to_thread(picture().extract_band(0).write_to_file, str(file))

    with pytest.raises(NotAnImage):
        await renderer.inspect(file)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_bytes_that_end_early_are_refused(renderer, suffix, kept):
    noise = pyvips.Image.gaussnoise(200, 150, mean=128, sigma=40, seed=5).cast("uchar").bandjoin([100, 200])
    content = encoded(suffix, noise.cast("uchar").copy(interpretation="srgb"))

    assert await _refusal(renderer, content[: int(len(content) * kept)]) == DAMAGED


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_a_file_that_is_only_a_signature_is_refused(renderer, suffix):
    assert await _refusal(renderer, encoded(suffix)[:13]) == DAMAGED


async def test_the_content_decides_and_no_name(renderer, tmp_path):
    file = tmp_path / "picture.jpg"
    await asyncio.to_thread(file.write_bytes, encoded(".png"))

    assert (await renderer.inspect(file)).mime_type == "image/png"


SCRIPT = b"*/=1;alert('hostile')//<script>alert('hostile')</script>"


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_of_an_image_followed_by_a_script_only_the_image_is_rendered(renderer, suffix):
    content = encoded(suffix) + SCRIPT

    info = await renderer.inspect(content)
    rendered = [await renderer.render(content, 64, file_format) for file_format in RenderedFormat]

    assert (info.width, info.height) == (120, 80)
    assert not any(b"hostile" in part for part in rendered)


async def test_of_a_gif_that_is_javascript_too_only_the_image_is_rendered(renderer):
    gif = encoded(".gif")
    # The width of the canvas is the start of a comment of JavaScript: GIF89a/* ... */=1;alert()
    polyglot = gif[:6] + b"/*" + gif[8:] + SCRIPT

    info = await renderer.inspect(polyglot)
    rendered = await renderer.render(polyglot, 64, RenderedFormat.WEBP)

    assert info.mime_type == "image/gif"
    assert b"hostile" not in rendered


async def test_a_jpeg_with_html_in_its_comment_is_rendered_without_it(renderer):
    jpeg = encoded(".jpg")
    comment = b"<!doctype html><script>alert('hostile')</script>"
    polyglot = jpeg[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + jpeg[2:]

    info = await renderer.inspect(polyglot)
    rendered = await renderer.render(polyglot, 64, RenderedFormat.JPEG)

    assert info.mime_type == "image/jpeg"
    assert b"hostile" not in rendered


async def test_html_followed_by_a_jpeg_is_html(renderer):
    content = b"<html><script>alert('hostile')</script>" + encoded(".jpg")

    assert await _refusal(renderer, content) == f"HTML is not accepted as an image; {ACCEPTED}"


async def test_a_header_of_too_many_pixels_is_refused_before_decoding(renderer):
    text = "the image has 60000 × 60000 pixels; at most 50 megapixels are accepted"

    assert await _refusal(renderer, png_header(60_000, 60_000)) == text


async def test_a_small_file_of_a_huge_image_is_refused(renderer):
    rows = zlib.compress(bytes(10_001 * 10_000), 9)
    content = png_header(10_000, 10_000, rows)
    assert len(content) < 150_000

    assert "10000 × 10000 pixels" in await _refusal(renderer, content)


async def test_an_image_within_the_limits_is_decoded_in_limited_memory(renderer):
    content = encoded(".png", pyvips.Image.black(7_000, 7_000, bands=3))

    assert (await renderer.inspect(content)).width == 7_000


async def test_a_jpeg_header_of_too_many_pixels_is_refused(renderer):
    jpeg = encoded(".jpg")
    at = jpeg.index(b"\xff\xc0") + 5
    content = jpeg[:at] + (60_000).to_bytes(2, "big") * 2 + jpeg[at + 4 :]

    assert "60000 × 60000 pixels" in await _refusal(renderer, content)


async def test_too_many_frames_are_refused(renderer):
    assert (await renderer.inspect(animation(200))).frames == 200
    assert await _refusal(renderer, animation(201)) == "the image has 201 frames; at most 200 are accepted"


async def test_too_many_bytes_are_refused(renderer, tmp_path):
    content = encoded(".png") + bytes(20 * 1024 * 1024)
    text = f"the image has {len(content)} bytes; at most 20971520 (20 MB) are accepted"
    file = tmp_path / "large"
    await asyncio.to_thread(file.write_bytes, content)

    assert await _refusal(renderer, content) == text
    with pytest.raises(NotAnImage, match="at most 20971520"):
        await renderer.inspect(file)


async def test_a_colour_profile_that_is_none_does_no_harm(renderer):
    image = picture()
    image.set_type(pyvips.GValue.blob_type, "icc-profile-data", b"no profile" * 20)

    assert (await renderer.inspect(encoded(".jpg", image))).width == 120


async def test_an_image_that_needs_too_much_memory_has_failed():
    small = Renderer(RendererLimits(memory=64 * 1024 * 1024))
    try:
        # An interlaced image is decoded whole.
        content = encoded(".png", pyvips.Image.black(6_000, 6_000, bands=3), interlace=True)
        with pytest.raises(RendererFailed, match="needs more than 64 MB of memory"):
            await small.inspect(content)

        assert (await small.inspect(encoded(".png"))).width == 120
    finally:
        await small.close()


async def test_an_image_that_needs_too_much_time_has_failed():
    slow = Renderer(RendererLimits(cpu_seconds=1))
    try:
        with pytest.raises(RendererFailed, match="took more than 1 s of CPU time"):
            await slow.render(slow_picture(), 2048, RenderedFormat.AVIF)

        assert (await slow.inspect(encoded(".png"))).width == 120
    finally:
        await slow.close()


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_mutated_images_are_rendered_or_refused(renderer, suffix):
    chance = random.Random(f"mutations of {suffix}")
    original = encoded(suffix, picture(40, 30))
    outcomes = set()

    for number in range(150):
        content = bytearray(original)
        for _ in range(chance.choice((1, 2, 8, 40))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)) :]
        try:
            rendered = await renderer.render(bytes(content), 64, RenderedFormat.WEBP)
        except ImageError as error:
            outcomes.add(type(error))
        else:
            outcomes.add(bytes)
            assert rendered.startswith(b"RIFF"), number

    assert {bytes, NotAnImage} <= outcomes
    assert (await renderer.inspect(original)).width == 40
