"""Make the stores, users, catalogue, orders and the outbox, each table under row-level security."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import Operation

from models.migrations._0001_models import MODELS
from models.migrations._operations import StateOnly, run_files


class Migration(Base):
    """Hold the first tables; nothing comes before."""

    initial = True
    dependencies: list[tuple[str, str]] = []  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0001_initial", backward="0001_initial_reverse.sql"),
        StateOnly(*MODELS),
    ]
