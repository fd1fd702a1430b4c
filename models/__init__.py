"""Tortoise models, their migrations, the database engine and the query layer."""

from tortoise import models as _tortoise

# Tortoise reads the source of each model for `#:` comments, which takes a tenth of a start; ours have none.
assert callable(_tortoise._get_comments)
_tortoise._get_comments = lambda cls: {}

MODEL_MODULES = [
    "models.stores",
    "models.users",
    "models.credentials",
    "models.apps",
    "models.mails",
    "models.marketplace",
    "models.catalog",
    "models.options",
    "models.boxes",
    "models.content",
    "models.orders",
    "models.carts",
    "models.payments",
    "models.shipping",
    "models.taxes",
    "models.promotions",
    "models.points",
    "models.events",
    "models.persisted_documents",
    "models.idempotency",
    "models.notifications",
    "models.warehouses",
    "models.b2b",
    "models.bulk",
]
