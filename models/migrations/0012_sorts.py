"""Index what lists of products, orders and users are sorted by."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import Operation

from models.migrations._operations import run_files


class Migration(Base):
    """Add six indexes."""

    dependencies: list[tuple[str, str]] = [("models", "0011_content")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0012_sorts", backward="0012_sorts_reverse.sql"),
    ]
