"""The customers of a file: accounts, addresses, usergroups and points (docs/reference/bulk.md#customers)."""

from __future__ import annotations

from domain.imports.customers import upsert_customers
from server.importers.file_rows import Column, ColumnGroup, RecordFormat
from server.importers.file_values import list_of, moment, texts, whole
from server.importers.record_files import FileKind, writing

_TEXTS = ("email", "name", "firstname", "lastname", "company_name", "phone", "cpf", "cnpj", "status")
_ADDRESS = ("name", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone")


CUSTOMERS = FileKind(
    "customers",
    RecordFormat(
        {
            **{name: Column(name) for name in _TEXTS},
            "points": Column("points", whole),
            "usergroups": Column("usergroups", texts, list_of(str, "names of usergroups")),
            "created_at": Column("created_at", moment, moment),
        },
        (ColumnGroup("addresses", "address_", {name: Column(name) for name in _ADDRESS}, is_list=True),),
        key="email",
    ),
    writing(upsert_customers),
)
