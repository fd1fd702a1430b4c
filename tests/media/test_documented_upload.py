"""The commands of docs/reference/graphql.md#media upload a picture and show it, as the page says."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.media import addresses
from domain.storage import Storage
from tests.docs.tutorial import matches
from tests.harness.programs import ROOT
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded

PAGE = ROOT / "docs" / "reference" / "graphql.md"
_EXAMPLE = re.compile(r"^```bash\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def base_url(sample: SampleStore) -> Iterator[str]:
    """Configure the address of the server."""
    earlier, url = addresses._addresses, str(sample.http.make_url("/")).rstrip("/")
    addresses.configure(url)
    yield url
    addresses.configure(earlier.base_url, earlier.media_url)


async def test_the_documented_commands_upload_a_picture_and_show_it(
    media_folder: Storage, sample: SampleStore, base_url: str, tmp_path: Path
) -> None:
    media = PAGE.read_text(encoding="utf-8").partition("\n## Media\n")[2].partition("\n## ")[0]
    [(commands, expected)] = _EXAMPLE.findall(media)
    (tmp_path / "mug.png").write_bytes(encoded(".png"))
    values = {
        "URL": base_url,
        "STORE": str(sample.store.public_id),
        "TOKEN": await sample.token(sample.owner),
        "PRODUCT": sample.mug.id,
    }
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", commands),
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **values},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, output.decode()
    assert matches(expected, output.decode()), output.decode()
