"""A bulk worker in its own process, to be killed: `… -m tests.bulk.killed_worker URL SECRET FOLDER`.

Before each batch is committed, it writes a line to stdout and waits for one from stdin.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from auth.configuration import configure
from domain import storage
from domain.bulk import configuration, operations
from domain.bulk.configuration import BulkConfiguration
from domain.bulk.files import ResultFile
from models.connection import database
from resolvers import bulk_mutations, bulk_queries
from server.workers.bulk import BulkWorker


async def main(url: str, secret: str, folder: str) -> None:
    configure(secret.encode())
    configuration.configure(BulkConfiguration(Path(folder) / "bulk"))
    storage.configure(storage.open_storage((Path(folder) / "storage").as_uri()))
    await database.connect(database.DatabaseSettings(url))
    save_results, write = operations.save_results, ResultFile.write

    async def announced(work: Any, *arguments: Any) -> Any:
        result = await work(*arguments)
        sys.stdout.write("batch\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        return result

    bulk_mutations.BATCH_LINES = 20
    operations.save_results = lambda *arguments: announced(save_results, *arguments)
    ResultFile.write = lambda *arguments: announced(write, *arguments)  # type: ignore[method-assign]
    await BulkWorker({"query": bulk_queries.run, "mutation": bulk_mutations.run}).run_next()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
