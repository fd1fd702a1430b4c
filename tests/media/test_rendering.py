"""Images are decoded, measured and rendered as they are shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pyvips

from domain.media.renderer import RenderedFormat
from tests.media.pictures import animation, encoded, picture, with_orientation

FORMATS = {".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif", ".avif": "image/avif"}
RED, BLUE = [220, 30, 30], [30, 30, 220]


def _loaded(content: bytes) -> pyvips.Image:
    return pyvips.Image.new_from_buffer(content, "")


def _assert_colour(image: pyvips.Image, x: int, y: int, expected: list[int], tolerance: int = 12) -> None:
    assert image.getpoint(x, y) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("suffix", FORMATS)
async def test_facts_are_those_of_the_content(renderer, suffix):
    info = await renderer.inspect(encoded(suffix))

    assert (info.mime_type, info.width, info.height, info.frames) == (FORMATS[suffix], 120, 80, 1)
    assert len(info.blurhash) == 28  # 4 × 3 components


async def test_the_blurhash_has_the_colours_of_the_image(renderer):
    red = (pyvips.Image.black(40, 40, bands=3) + [255, 0, 0]).cast("uchar").copy(interpretation="srgb")

    info = await renderer.inspect(encoded(".png", red))

    assert info.blurhash[2:6] == "TI:j"  # the mean colour, ff0000, in base 83


@pytest.mark.parametrize("file_format", list(RenderedFormat))
@pytest.mark.parametrize("suffix", FORMATS)
async def test_every_format_is_rendered_from_every_accepted_one(renderer, suffix, file_format):
    rendered = await renderer.render(encoded(suffix, picture(240, 160)), 64, file_format)

    loader = {"avif": "heif"}.get(file_format.value, file_format.value)
    image = _loaded(rendered)
    assert image.get("vips-loader") == f"{loader}load_buffer"
    assert (image.width, image.height) == (64, 43)
    _assert_colour(image[:3], 10, 20, BLUE)
    _assert_colour(image[:3], 54, 20, RED)


async def test_images_are_never_enlarged(renderer):
    rendered = await renderer.render(encoded(".png"), 2048, RenderedFormat.PNG)

    assert (_loaded(rendered).width, _loaded(rendered).height) == (120, 80)


@pytest.mark.parametrize("longest", [0, 63, 2049])
async def test_other_sizes_are_an_error_of_the_caller(renderer, longest):
    with pytest.raises(ValueError, match=f"longest is {longest}"):
        await renderer.render(encoded(".png"), longest, RenderedFormat.PNG)


@pytest.mark.parametrize("orientation", range(1, 9))
async def test_orientation_is_applied(renderer, orientation):
    content = encoded(".jpg", with_orientation(picture(), orientation))

    info = await renderer.inspect(content)
    image = _loaded(await renderer.render(content, 2048, RenderedFormat.PNG))

    upright = pyvips.Image.new_from_buffer(content, "").autorot()
    assert (info.width, info.height) == (image.width, image.height) == (upright.width, upright.height)
    assert (info.width < info.height) == (orientation >= 5)
    for x, y in ((5, 5), (image.width - 6, image.height - 6)):
        _assert_colour(image, x, y, upright.getpoint(x, y))


@pytest.mark.parametrize("file_format", list(RenderedFormat))
async def test_metadata_is_removed(renderer, file_format):
    image = with_orientation(picture(), 6)
    image.set_type(pyvips.GValue.gstr_type, "exif-ifd0-Copyright", "secret place")
    image.set_type(pyvips.GValue.blob_type, "xmp-data", b"<x:xmpmeta>secret place</x:xmpmeta>")
    content = encoded(".jpg", image)
    assert b"secret place" in content

    rendered = await renderer.render(content, 2048, file_format)

    fields = set(_loaded(rendered).get_fields())
    assert not {field for field in fields if field.startswith(("exif", "xmp", "icc", "iptc", "orientation"))}
    assert b"secret" not in rendered


async def test_colours_become_srgb(renderer):
    wide = picture().icc_export(output_profile="p3")

    image = _loaded(await renderer.render(encoded(".png", wide), 2048, RenderedFormat.PNG))

    assert wide.getpoint(100, 40) != pytest.approx(RED, abs=8)
    _assert_colour(image, 100, 40, RED, tolerance=4)


async def test_cmyk_becomes_srgb(renderer):
    content = encoded(".jpg", picture().icc_export(output_profile="cmyk"))
    assert _loaded(content).interpretation == "cmyk"

    image = _loaded(await renderer.render(content, 2048, RenderedFormat.PNG))

    # The colours are outside of the gamut of that CMYK: red stays the reddest, blue the bluest.
    red, blue = image.getpoint(100, 40), image.getpoint(20, 40)
    assert red[0] > 180
    assert max(red[1:]) < 80
    assert blue[2] > max(*blue[:2], 100)


async def test_16_bits_become_8(renderer):
    deep = picture().colourspace("rgb16")
    assert deep.format == "ushort"

    image = _loaded(await renderer.render(encoded(".png", deep), 2048, RenderedFormat.PNG))

    assert image.format == "uchar"
    _assert_colour(image, 100, 40, RED, tolerance=2)


async def test_16_bits_with_alpha_become_8(renderer):
    deep = picture().colourspace("rgb16")
    alpha = (pyvips.Image.black(120, 80) + 32768).cast("ushort")

    image = _loaded(await renderer.render(encoded(".png", deep.bandjoin(alpha)), 2048, RenderedFormat.PNG))

    _assert_colour(image, 100, 40, [*RED, 128], tolerance=2)


async def test_grey_becomes_srgb(renderer):
    grey = (pyvips.Image.black(50, 50) + 100).cast("uchar").copy(interpretation="b-w")

    image = _loaded(await renderer.render(encoded(".jpg", grey), 2048, RenderedFormat.PNG))

    assert image.interpretation == "srgb"
    _assert_colour(image, 25, 25, [100, 100, 100], tolerance=2)


async def test_a_palette_becomes_srgb(renderer):
    content = encoded(".png", palette=True)

    image = _loaded(await renderer.render(content, 2048, RenderedFormat.PNG))

    assert _loaded(content).get_typeof("palette")
    _assert_colour(image, 100, 40, RED, tolerance=2)


@pytest.mark.parametrize(
    "file_format, expected",
    [
        (RenderedFormat.JPEG, [255, 255, 255]),
        (RenderedFormat.WEBP, [0]),
        (RenderedFormat.AVIF, [0]),
        (RenderedFormat.PNG, [0]),
    ],
)
async def test_transparent_pixels_stay_so_and_are_white_in_jpeg(renderer, file_format, expected):
    transparent = picture().bandjoin(0)

    image = _loaded(await renderer.render(encoded(".png", transparent), 64, file_format))

    assert image.getpoint(10, 10)[-len(expected) :] == pytest.approx(expected, abs=2)


async def test_sizes_of_animations_have_the_first_frame(renderer):
    content = animation(5)

    info = await renderer.inspect(content)
    image = _loaded(await renderer.render(content, 64, RenderedFormat.WEBP))

    assert (info.frames, info.width, info.height) == (5, 8, 8)
    assert (image.width, image.height) == (8, 8)
    _assert_colour(image, 4, 4, RED)


async def test_files_are_rendered_as_their_content(renderer, tmp_path: Path):
    file = tmp_path / "picture"
    await asyncio.to_thread(file.write_bytes, encoded(".png"))

    rendered = await renderer.render(file, 64, RenderedFormat.PNG)

    assert rendered == await renderer.render(encoded(".png"), 64, RenderedFormat.PNG)
