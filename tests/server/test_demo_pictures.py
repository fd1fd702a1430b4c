"""The pictures of the demo stores: every record has one, they are the same wherever they are rendered, and are rendered once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernel.text import slugify
from server.demo.catalog import DemoCatalog, load_catalog
from server.demo.pictures import drawings
from server.demo.pictures.pictures import Picture, all_pictures, product_pictures
from server.demo.pictures.rendering import render_pictures
from server.media.child_pool import Renderer

CATALOGS = ("casa_ipe", "serra_alta")
MIME_TYPES = {"jpeg": "image/jpeg", "webp": "image/webp", "png": "image/png"}


@pytest.fixture(params=CATALOGS)
def catalog(request: pytest.FixtureRequest) -> DemoCatalog:
    return load_catalog(request.param)


def small(pictures: Sequence[Picture]) -> list[Picture]:
    return [replace(picture, scale=picture.scale / 20) for picture in pictures]


def test_every_product_has_its_own_drawing(catalog: DemoCatalog) -> None:
    pictures = [product_pictures(catalog, product) for product in catalog.products]
    assert [len(each) for each in pictures] == [product.images for product in catalog.products]
    drawn = [picture.svg for each in pictures for picture in each]
    assert len(set(drawn)) == len(drawn)


def test_every_drawing_is_of_a_product() -> None:
    folder = Path(drawings.__file__).parent / "drawings"
    products = {slugify(product.name) for name in CATALOGS for product in load_catalog(name).products}
    assert {path.stem for path in folder.iterdir()} == products


def test_categories_vendors_and_the_store_have_pictures(catalog: DemoCatalog) -> None:
    named = {picture.name for picture in all_pictures(catalog)}
    assert named >= {category.key for category in catalog.categories}
    assert named >= {vendor.key for vendor in catalog.vendors} | {catalog.name}


def test_a_drawing_depends_on_nothing_of_the_machine(catalog: DemoCatalog) -> None:
    for picture in all_pictures(catalog):
        for reference in ("<text", "href", "url(http", "<image", "font"):
            assert reference not in picture.svg, (picture.name, reference)


async def test_pictures_are_the_same_bytes_each_time(catalog: DemoCatalog, tmp_path: Path) -> None:
    pictures = small(all_pictures(catalog))
    first = await render_pictures(pictures, tmp_path / "first")
    second = await render_pictures(pictures, tmp_path / "second")
    for picture in pictures:
        assert first[picture].read_bytes() == second[picture].read_bytes(), picture.name
    assert len({path.read_bytes() for path in first.values()}) == len(pictures)


async def test_pictures_are_images_of_their_format_and_size(tmp_path: Path) -> None:
    pictures = all_pictures(load_catalog("serra_alta"))
    shown = [next(picture for picture in pictures if picture.format == each) for each in MIME_TYPES]
    files = await render_pictures(shown, tmp_path)
    renderer = Renderer()
    try:
        for picture in shown:
            info = await renderer.inspect(files[picture])
            assert (info.mime_type, info.width) == (MIME_TYPES[picture.format], round(1000 * picture.scale))
    finally:
        await renderer.close()
    assert shown[0].scale == 1.6


async def test_a_picture_is_rendered_once(tmp_path: Path) -> None:
    picture, other = small(all_pictures(load_catalog("serra_alta")))[:2]
    path = (await render_pictures([picture], tmp_path))[picture]
    path.write_bytes(b"kept")
    files = await render_pictures([picture, other], tmp_path)
    assert files[picture].read_bytes() == b"kept"
    assert files[other].read_bytes() != b"kept"
    assert sorted(tmp_path.iterdir()) == sorted(files.values())


async def test_a_drawing_that_is_broken_is_reported(tmp_path: Path) -> None:
    broken = Picture("broken", "<svg", 1)
    with pytest.raises(RuntimeError, match="can't be rendered"):
        await render_pictures([broken], tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_a_changed_drawing_is_another_file(tmp_path: Path) -> None:
    picture = small(all_pictures(load_catalog("serra_alta")))[0]
    changed = replace(picture, svg=picture.svg.replace("</svg>", "<path d='M0 0H500V500z'/></svg>"))
    files = await render_pictures([picture, changed], tmp_path)
    assert files[picture] != files[changed]
    assert files[picture].read_bytes() != files[changed].read_bytes()
