"""The customers of a file: accounts, addresses, usergroups and points (docs/reference/bulk.md#customers)."""

from __future__ import annotations

from collections.abc import Sequence

from domain.imports.customers import upsert_customers
from domain.imports.results import temporary_numbers
from kernel.scope import Scope
from models.numbers import take_numbers
from server.importers.file_rows import Column, ColumnGroup, FileRow, RecordFormat, moment, text_list, texts, whole
from server.importers.record_files import BatchOutcome, FileKind, ImportOptions, outcome_of

_TEXTS = ("email", "name", "firstname", "lastname", "company_name", "phone", "cpf", "cnpj", "status")
_ADDRESS = ("name", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone")


async def _write(scope: Scope, batch: Sequence[FileRow], options: ImportOptions) -> BatchOutcome:
    results = await upsert_customers(
        scope,
        [row.values for row in batch],
        emit_events=options.events,
        take=temporary_numbers if options.dry_run else take_numbers,
    )
    return outcome_of(batch, results)


CUSTOMERS = FileKind(
    "customers",
    RecordFormat(
        {
            **{name: Column(name) for name in _TEXTS},
            "points": Column("points", whole),
            "usergroups": Column("usergroups", texts, text_list("names of usergroups")),
            "created_at": Column("created_at", moment, moment),
        },
        (ColumnGroup("addresses", "address_", {name: Column(name) for name in _ADDRESS}, is_list=True),),
        key="email",
    ),
    _write,
)
