"""Define the use of the schema."""

from __future__ import annotations

from domain.apps.schema_usage import SCHEMA_USAGE
from models.reading.queries import ToOne
from schema.fields import column, entity_type, relation
from schema.scalars import ID, BigInt, DateTime
from schema.types.apps import InstalledAppObject, StorefrontKeyObject


@entity_type(SCHEMA_USAGE, "SchemaUsage")
class SchemaUsageObject:
    """How often a root field, or a deprecated field or argument, was used by an app, with a storefront key, or by other users of a kind."""

    id: ID = column("public_id", "The unique ID (UUID).")
    field: str = column(description="The field, `Query.products`, or the argument, `Product.pricing(options:)`.")
    is_deprecated: bool = column(description="Whether the schema deprecates it.")
    caller: str = column(description="The kind of caller: `app`, `storefront`, `admin`, `vendor` or `customer`.")
    installed_app: InstalledAppObject | None = relation(
        ToOne("installation_id"), "The app; null for another caller, or once it was removed."
    )
    storefront_key: StorefrontKeyObject | None = relation(
        ToOne("storefront_key_id"),
        "The storefront key, also one that was sent along with a user's token; null without one, or once it was revoked.",
    )
    uses: BigInt = column(description="The number of operations since the first use.")
    first_used_at: DateTime = column(description="When it was first used, to the minute.")
    last_used_at: DateTime = column(
        description="When it was last used, to the minute; the record is deleted 90 days later."
    )
