"""The lines that bulk operations may have in a day (docs/reference/bulk.md#limits)."""

from __future__ import annotations

from domain.bulk.configuration import BulkConfiguration, configure
from tests.bulk.conftest import Bulk, limit_rows
from tests.bulk.test_bulk_mutations import CREATE, names, product
from tests.bulk.test_bulk_queries import add_products
from tests.harness.clients import NewClient
from tests.harness.http import Client
from tests.harness.scopes import execute


async def test_lines_count_against_the_allowance_of_the_day(bulk: Bulk, admin: Client, new_client: NewClient):
    configure(BulkConfiguration(bulk.folder / "bulk", daily_rows=5))
    await add_products(admin, 3)
    assert len(await bulk.result(admin, "{ products { id } }")) == 3
    created = await bulk.create(admin, "{ products { id } }")
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["error_code"], operation["result"]) == ("failed", "RATE_LIMITED", None)
    assert (await bulk.refusal(admin, "{ products { id } }"))["extensions"]["code"] == "RATE_LIMITED"
    # Of others, and of tomorrow, it says nothing.
    assert len(await bulk.result(await new_client("view_products"), "{ products { id } }")) == 3
    await execute(admin.store, "update bulk_operations set created_at = created_at - interval '1 day'")
    assert len(await bulk.result(admin, "{ products { id } }")) == 3


async def test_lines_before_an_interruption_do_not_count_twice(bulk: Bulk, admin: Client):
    await add_products(admin, 3)
    await limit_rows(admin, 3)
    created = await bulk.create(admin, "{ products { id } }")
    await execute(admin.store, "update bulk_operations set object_count = 3")
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"]) == ("completed", 3), operation


async def test_all_or_nothing_counts_its_lines(bulk: Bulk, admin: Client):
    await limit_rows(admin, 1)
    operation, _ = await bulk.mutate(admin, CREATE, [product(1), product(2)], all=True)
    message = "the file has more lines than the 1 that are left of the limit bulk_rows_per_day of the store"
    assert (operation["error_code"], operation["error_message"]) == ("RULE_VIOLATION", message)
    assert await names(admin) == []
