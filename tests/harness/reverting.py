"""Revert migrations by their `_reverse.sql`, as only tests do: the tables of a version serve the one before it too."""

from __future__ import annotations

from models import migrate
from models.migrate import FOLDER, MigrationError, disk_migrations


def reverse_sql(name: str) -> str:
    """Return the statements that revert a migration."""
    return (FOLDER / f"{name}_reverse.sql").read_text(encoding="utf-8")


async def revert(url: str, name: str) -> None:
    """Revert the migration, which must be the last one applied. The data in its tables is lost."""
    connection = await migrate._connect(url)
    try:
        await migrate._lock(connection)
        applied = await migrate._applied(connection)
        names = [migration.name for migration in disk_migrations() if migration.name in applied]
        if names[-1:] != [name]:
            raise MigrationError(f"{name} is not the last migration applied")
        async with connection.transaction():
            await connection.execute("set constraints all immediate")
            await connection.execute(reverse_sql(name))
            await connection.execute(
                "delete from tortoise_migrations where app = $1 and name = $2", migrate.APP_LABEL, name
            )
    finally:
        await connection.close()
