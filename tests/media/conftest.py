"""Fixtures of the tests of media."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from domain.bulk import configuration
from domain.bulk.configuration import BulkConfiguration
from domain.media import addresses
from domain.media import renderer as renderers
from domain.storage import Storage
from server.media.child_pool import Renderer
from tests.harness.files import used_storage
from tests.harness.sample_store import SampleStore


@pytest.fixture(scope="module")
async def renderer() -> AsyncIterator[Renderer]:
    """Return a renderer with the limits of production."""
    renderer = Renderer()
    yield renderer
    await renderer.close()


@pytest.fixture
async def media_folder(tmp_path: Path, renderer: Renderer) -> AsyncIterator[Storage]:
    """Configure a storage in a folder, one for arriving files, and the renderer, which decodes."""
    earlier_renderer, earlier_bulk = renderers._renderer, configuration.configured()
    renderers.configure(renderer)
    configuration.configure(BulkConfiguration(tmp_path / "parts"))
    with used_storage((tmp_path / "storage").as_uri()) as opened:
        yield opened
    configuration.configure(earlier_bulk)
    renderers.configure(earlier_renderer)


@pytest.fixture
def base_url(sample: SampleStore) -> Iterator[str]:
    """Configure the address of the server."""
    earlier, url = addresses._addresses, str(sample.http.make_url("/")).rstrip("/")
    addresses.configure(url)
    yield url
    addresses.configure(earlier.base_url, earlier.media_url)
