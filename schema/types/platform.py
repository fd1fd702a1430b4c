"""Define what the platform's operator reads of all stores (`resolvers.platform`); no store's schema has these types."""

from __future__ import annotations

from typing import NewType

from graphql import GraphQLEnumType

from kernel.store_usage import MEASURES
from schema.declaration import declare
from schema.enums import graphql_core_type
from schema.fields import object_type, output_field
from schema.scalars import ID, BigInt, DateTime
from schema.types.stores import StoreLimitObject

StoreMeasure = NewType("StoreMeasure", str)
STORE_MEASURE = graphql_core_type(
    GraphQLEnumType(
        "StoreMeasure", {name: name for name in MEASURES}, description="What is counted or measured of a store."
    )
)


@declare
class Measures:
    """What a store used, and what it stores."""

    requests: BigInt = output_field("Requests.")
    cpu_seconds: float = output_field("CPU time of the event loop and of threads, in seconds.")
    statements: BigInt = output_field("SQL statements.")
    statement_seconds: float = output_field("Time from sending the statements to their last rows, in seconds.")
    rows_read: BigInt = output_field("Rows that the statements returned.")
    webhooks: BigInt = output_field("Attempts to deliver events.")
    mails: BigInt = output_field("Mails sent.")
    stored_rows: BigInt | None = output_field("Rows in tables, as PostgreSQL estimates them; null if not yet measured.")
    table_bytes: BigInt | None = output_field("Bytes of tables and indexes, an estimate too; null if not yet measured.")
    media_bytes: BigInt | None = output_field(
        "Bytes of images and files with their smaller sizes; null if not yet measured."
    )
    file_bytes: BigInt | None = output_field("Bytes of the results of bulk operations; null if not yet measured.")


@object_type("StoreUsage")
class StoreUsageObject(Measures):
    """What a store used in the hours asked for, and what it stored when it was last measured."""

    store_id: ID = output_field("The UUID of the store.")
    name: str = output_field("Its name.")
    measured_at: DateTime | None = output_field("When what it stores was measured; null if not within two days.")


@object_type("StoreHour")
class StoreHourObject(Measures):
    """What a store used in an hour, and what it stored if that was measured then."""

    hour: DateTime = output_field("The beginning of the hour.")


@object_type("StoreLimit")
class LimitOfStoreObject(StoreLimitObject):
    """A limit of a store (`vitrine tenant limit`)."""


@object_type("PlatformStore")
class PlatformStoreObject:
    """A store of the platform."""

    store_id: ID = output_field("The UUID.")
    name: str = output_field("The name.")
    status: str = output_field("`A` open, `M` in maintenance, `S` suspended.")
    read_only: bool = output_field("Whether it answers reads and sign-ins only.")
    hosts: list[str] = output_field("Its hosts, the primary one first.")
    limits: list[LimitOfStoreObject] = output_field("The limits set for it, and what is used of them.")
    hours: list[StoreHourObject] = output_field("The hours asked for in which it used anything, the last one first.")
