"""Storages of files for tests: a folder, or the S3-compatible server of the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from domain import storage
from domain.storage import Storage, open_storage
from tests.harness.s3_server import ENVIRONMENT, S3Server, running_s3, s3_url


@contextmanager
def used_storage(url: str) -> Iterator[Storage]:
    """Use the storage at an address inside the block."""
    before, opened = storage._storage, open_storage(url)
    storage.configure(opened)
    yield opened
    storage._storage = before


@pytest.fixture(scope="session", autouse=True)
def _storage_of_the_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with used_storage((tmp_path_factory.mktemp("storage")).as_uri()):
        yield


@pytest.fixture
async def s3(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[S3Server]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    async with running_s3() as server:
        yield server


@pytest.fixture
def s3_storage(s3: S3Server) -> Iterator[Storage]:
    with used_storage(s3_url(s3)) as opened:
        yield opened
