"""Let vendors choose shipping methods, and serve the lists of stores and discussions by indexes."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import AddField, Operation

from models.migrations._operations import StateOnly, field, run_files


class Migration(Base):
    """Add a column of vendors and indexes."""

    dependencies: list[tuple[str, str]] = [("models", "0001_initial")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0002_stores", backward="0002_stores_reverse.sql"),
        StateOnly(AddField("Vendor", "shippings", field("shippings", "json"))),
    ]
