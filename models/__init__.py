"""Tortoise models, their migrations, the database engine and the query layer."""

from tortoise import models as _tortoise

# Tortoise reads the source of each model for `#:` comments, which takes a tenth of a start; ours have none.
assert callable(_tortoise._get_comments)
_tortoise._get_comments = lambda cls: {}

MODEL_MODULES = [
    "models.tables.stores",
    "models.tables.users",
    "models.tables.credentials",
    "models.tables.apps",
    "models.tables.mails",
    "models.tables.marketplace",
    "models.tables.catalog",
    "models.tables.media",
    "models.tables.options",
    "models.tables.boxes",
    "models.tables.content",
    "models.tables.orders",
    "models.tables.carts",
    "models.tables.payments",
    "models.tables.ledger",
    "models.tables.shipping",
    "models.tables.taxes",
    "models.tables.promotions",
    "models.tables.points",
    "models.tables.events",
    "models.tables.persisted_documents",
    "models.tables.idempotency",
    "models.tables.notifications",
    "models.tables.warehouses",
    "models.tables.b2b",
    "models.tables.bulk",
]
