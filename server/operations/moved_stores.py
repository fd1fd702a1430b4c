"""Delete what stores that have moved to another database have left here, some days after the switch: a job of the workers.

An undo needs it until then. Each store is locked as by a move, so that none begins or goes on meanwhile.
"""

from __future__ import annotations

from datetime import timedelta

from domain.jobs import DELETE_MOVED_STORES, Job, JobResult, ShouldContinue
from kernel import logging
from server.operations.store_admin import StoreWithHosts, list_left_stores
from server.operations.store_deletion import delete_locked
from server.operations.store_move import try_lock
from server.operations.store_transfer import connect_owner


def deletion_job(owner_url: str, days: int) -> Job:
    """Return the job, which deletes as the owner of the tables what was left so many days ago; 0: nothing."""
    age = timedelta(days=days)

    async def delete_moved_stores(should_continue: ShouldContinue) -> JobResult:
        left = await list_left_stores(age) if days else []
        failures: list[str] = []
        for done, entry in enumerate(left):
            if not should_continue():
                return JobResult(done, tuple(failures), complete=False)
            try:
                await _delete(owner_url, entry, age)
            except Exception as error:
                logging.failure("what a moved store left was not deleted", error, store=str(entry.store.public_id))
                failures.append(f"{type(error).__name__} in store {entry.store.public_id}")
        return JobResult(len(left), tuple(failures))

    return Job(DELETE_MOVED_STORES, timedelta(hours=1), delete_moved_stores)


async def _delete(owner_url: str, entry: StoreWithHosts, age: timedelta) -> None:
    store = entry.store
    async with connect_owner(owner_url, store.id) as connection:
        if not await try_lock(connection, store.public_id):
            return  # it is being moved back
        # Since the list was read it may have been moved back.
        if all(other.store.id != store.id for other in await list_left_stores(age)):
            return
        receipt = (await delete_locked(connection, store, entry.hosts)).as_json()
    logging.event("what a moved store left is deleted", store=str(store.public_id), receipt=receipt)
