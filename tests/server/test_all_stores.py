"""The checks of `vitrine doctor` that read the rows of all stores: one connection shows all, or one after the other shows each."""

from __future__ import annotations

import pytest

from domain.reencryption import ColumnReport, survey_values
from server.operations import all_stores
from server.operations.archives import ArchiveError
from tests.harness.sample_store import SampleStore
from tests.server.test_store_move import written

pytestmark = pytest.mark.usefixtures("database")

UNREADABLE = """
insert into payment_methods (tenant_id, public_id, name, processor_params)
values ($1, gen_random_uuid(), 'Pix', '\\x00')
"""


async def surveyed(url: str) -> tuple[int, list[str]]:
    """Return how many connections were read, and the unreadable payment methods."""
    count = 0

    async def counted():
        nonlocal count
        async for reader in all_stores.readers(url):
            count += 1
            yield reader

    reports: tuple[ColumnReport, ...] = await survey_values(counted())
    [report] = [each for each in reports if each.column.table == "payment_methods"]
    return count, sorted(report.unreadable)


async def test_secrets_of_all_stores_are_checked_by_statements_that_no_store_adds_to(
    sample: SampleStore, other_sample: SampleStore, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    for each in (sample, other_sample):
        await written(database_url, each.store.public_id, UNREADABLE)
    connections, places = await surveyed(database_url)
    named = {place.rpartition(" of the store ")[2] for place in places}
    assert {str(sample.store.public_id), str(other_sample.store.public_id)} <= named
    assert connections == 1

    async def refuse(connection: object) -> str:
        raise ArchiveError("no such role")

    monkeypatch.setattr(all_stores, "reading_role", refuse)
    one_by_one, same = await surveyed(database_url)
    assert (same, one_by_one > 1) == (places, True), "an owner that may not create roles sees one store at a time"
