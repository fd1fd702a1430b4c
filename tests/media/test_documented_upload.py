"""The commands of the reference upload a picture in each way, and answer as the pages say."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from domain.storage import Storage
from tests.docs.tutorial import matches
from tests.harness.programs import ROOT
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded

_EXAMPLE = re.compile(r"^```bash\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: str, heading: str) -> list[tuple[str, str]]:
    """Return the commands of a section of the reference, each with its output."""
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    return _EXAMPLE.findall(re.split(r"^#+ ", text.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0])


EXAMPLES = {
    f"{page} {heading}": example
    for page, heading in (
        ("graphql.md", "## Media"),
        ("graphql.md", "### Multipart requests"),
        ("current.md", "## Media"),
    )
    for example in examples(page, heading)
}


def test_each_way_to_upload_has_an_example() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("section", EXAMPLES)
async def test_the_documented_commands_upload_a_picture(
    section: str, media_folder: Storage, sample: SampleStore, base_url: str, tmp_path: Path
) -> None:
    commands, expected = EXAMPLES[section]
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
