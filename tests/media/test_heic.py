"""Photos of phones (HEIC) are decoded as every other image: upright, in sRGB, without metadata, within the limits of the child.

The files in `tests/media/heic` are drawings of our own, written once with pillow-heif: 240 × 160
pixels, the left half blue, the rest red. `grid` has the form of a phone's: 12 megapixels in tiles of 512 × 512, turned by its box `irot`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import pyvips

from domain.media.renderer import ImageError, NotAnImage, RenderedFormat
from domain.storage import Storage
from server.media.child_pool import Renderer, RendererLimits
from tests.harness.http import Client
from tests.media.pictures import heic
from tests.media.test_form_uploads import file, send
from tests.media.test_rest import CURRENT

FILES = sorted(file.stem for file in (Path(__file__).parent / "heic").glob("*.heic") if file.stem != "large")
RED, BLUE = [220, 30, 30], [30, 30, 220]
DAMAGED = "the image is damaged, or its end is missing"


async def rendered(renderer: Renderer, name: str, file_format: RenderedFormat = RenderedFormat.PNG) -> pyvips.Image:
    return pyvips.Image.new_from_buffer(await renderer.render(heic(name), 2048, file_format), "")


def with_size(content: bytes, width: int, height: int) -> bytes:
    """Return the file with another size in its header (the boxes `ispe`)."""
    before, *others = content.split(b"ispe\0\0\0\0")
    assert others
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"ispe\0\0\0\0".join([before, *(size + other[8:] for other in others)])


async def test_facts_are_those_of_the_content(renderer):
    info = await renderer.inspect(heic("picture"))
    assert (info.mime_type, info.width, info.height, info.frames) == ("image/heic", 240, 160, 1)
    assert len(info.blurhash) == 28


@pytest.mark.parametrize("file_format", list(RenderedFormat))
async def test_every_format_is_rendered_without_metadata(renderer, file_format):
    assert b"secret place" in heic("picture")
    content = await renderer.render(heic("picture"), 64, file_format)
    image = pyvips.Image.new_from_buffer(content, "")
    assert (image.width, image.height) == (64, 43)
    assert image.getpoint(10, 20)[:3] == pytest.approx(BLUE, abs=12)
    assert image.getpoint(54, 20)[:3] == pytest.approx(RED, abs=12)
    assert not {field for field in image.get_fields() if field.startswith(("exif", "xmp", "icc", "orientation"))}
    assert b"secret" not in content


async def test_a_turned_photo_is_upright(renderer):
    info = await renderer.inspect(heic("turned"))
    image = await rendered(renderer, "turned")
    assert (info.width, info.height) == (image.width, image.height) == (160, 240)
    # Exif orientation 6: what was on the left is above.
    assert image.getpoint(80, 20) == pytest.approx(BLUE, abs=12)
    assert image.getpoint(80, 220) == pytest.approx(RED, abs=12)


async def test_a_photo_in_tiles_is_put_together(renderer):
    info = await renderer.inspect(heic("grid"))
    image = await rendered(renderer, "grid")
    assert (info.width, info.height, info.frames) == (3024, 4032, 1)
    assert (image.width, image.height) == (1536, 2048)
    assert image.getpoint(768, 100) == pytest.approx(BLUE, abs=12)
    assert image.getpoint(768, 1948) == pytest.approx(RED, abs=12)


async def test_colours_become_srgb(renderer):
    image = await rendered(renderer, "wide-gamut")  # its own red is (202, 54, 43) in Display P3
    assert image.getpoint(200, 80) == pytest.approx(RED, abs=8)


async def test_ten_bits_become_eight_and_grey_becomes_srgb(renderer):
    assert (await rendered(renderer, "ten-bits")).getpoint(200, 80) == pytest.approx(RED, abs=8)
    assert (await rendered(renderer, "grey")).getpoint(200, 80) == pytest.approx([100, 100, 100], abs=2)


async def test_transparent_pixels_stay_so_and_are_white_in_jpeg(renderer):
    assert (await rendered(renderer, "transparent")).getpoint(10, 10)[3] == 0
    image = await rendered(renderer, "transparent", RenderedFormat.JPEG)
    assert image.getpoint(10, 10) == pytest.approx([255, 255, 255], abs=2)


async def test_of_several_images_the_first_one_is_shown(renderer):
    info = await renderer.inspect(heic("frames"))
    assert info.frames == 3
    assert (await rendered(renderer, "frames")).getpoint(10, 80) == pytest.approx(BLUE, abs=12)


async def test_more_images_than_the_limit_are_refused():
    renderer = Renderer(RendererLimits(frames=2))
    with pytest.raises(NotAnImage, match="has 3 frames; at most 2"):
        await renderer.inspect(heic("frames"))
    await renderer.close()


async def test_48_megapixels_are_rendered_within_the_memory_of_a_child(renderer):
    image = await rendered(renderer, "large", RenderedFormat.JPEG)
    assert (image.width, image.height) == (2048, 1536)


@pytest.mark.parametrize("megabytes", [64, 128, 200])
async def test_an_image_that_needs_more_memory_than_the_limit_ends_nothing_but_its_request(megabytes):
    renderer = Renderer(RendererLimits(memory=megabytes * 1024 * 1024, children=1))
    with pytest.raises(ImageError):
        await renderer.inspect(heic("large"))
    assert (await renderer.inspect(heic("picture"))).width == 240
    await renderer.close()


async def test_a_header_of_too_many_pixels_is_refused_before_decoding(renderer):
    with pytest.raises(NotAnImage, match="the image has 20000 × 20000 pixels; at most 50 megapixels"):
        await renderer.inspect(with_size(heic("picture"), 20_000, 20_000))


@pytest.mark.parametrize("size", [(16, 16), (2000, 2000), (0, 0), (0, 160)])
async def test_a_header_of_another_size_than_the_content_has_is_refused(renderer, size):
    with pytest.raises(NotAnImage, match=DAMAGED):
        await renderer.inspect(with_size(heic("picture"), *size))


@pytest.mark.parametrize("kept", [13, 0.1, 0.3, 0.6, 0.95])
async def test_bytes_that_end_early_are_refused(renderer, kept):
    content = heic("noise")
    with pytest.raises(NotAnImage, match=DAMAGED):
        await renderer.inspect(content[: kept if kept > 1 else int(len(content) * kept)])


@pytest.mark.parametrize("name", FILES)
async def test_damaged_bytes_end_nothing_but_their_request(renderer, name):
    content = heic(name)
    for position in range(16, len(content), max(1, len(content) // 40)):
        damaged = content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :]
        with suppress(ImageError):  # some damage is only seen
            await renderer.inspect(damaged)
    assert (await renderer.inspect(content)).mime_type == "image/heic"


async def test_a_sequence_of_no_size_is_damaged(renderer):
    """Libheif says that memory is missing for a picture of no width."""
    content = heic("wide-gamut")
    sequence = content.index(b"\x03\xc4\x05\x0b") - 2
    with pytest.raises(NotAnImage, match=DAMAGED):
        await renderer.inspect(content[:sequence] + b"\xff" * 4 + content[sequence + 4 :])


async def test_a_signature_without_an_image_is_refused(renderer):
    for content in (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic"):
        with pytest.raises(NotAnImage, match=DAMAGED):
            await renderer.inspect(content)


async def test_an_uploaded_photo_is_shown_as_jpeg_and_its_original_is_kept(
    media_folder: Storage, base_url: str, admin: Client
) -> None:
    content = heic("turned")
    created = await send(admin, CURRENT, [file(content, "IMG_0001.HEIC", "image/heif")])
    shown = {name: created.body[name] for name in ("status", "mime_type", "bytes", "width", "height")}
    assert (created.status, shown) == (
        201,
        {"status": "ready", "mime_type": "image/heic", "bytes": len(content), "width": 160, "height": 240},
    )
    path = created.body["url"][created.body["url"].index("/media/") :]
    folder = path.removesuffix("/2048.jpeg")
    assert folder != path
    for name, mime_type, accept in (
        ("2048.jpeg", "image/jpeg", "*/*"),
        ("128.auto", "image/jpeg", "*/*"),
        ("128.auto", "image/webp", "image/webp,*/*"),
        ("ORIGINAL.heic", "image/heic", "*/*"),
    ):
        answer = await admin.get(f"{folder}/{name}", headers={"Accept": accept})
        assert (answer.status, answer.headers["Content-Type"]) == (200, mime_type), name
    assert answer.raw == content
