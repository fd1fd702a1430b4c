"""Keep the shop's data: Tortoise models, their migrations, the engine beneath them and the reader above them."""

MODEL_MODULES = [
    "models.stores",
    "models.people",
    "models.access",
    "models.apps",
    "models.mails",
    "models.marketplace",
    "models.catalog",
    "models.options",
    "models.boxes",
    "models.orders",
    "models.carts",
    "models.payments",
    "models.shipping",
    "models.taxes",
    "models.promotions",
    "models.events",
    "models.documents",
    "models.idempotency",
    "models.notifications",
    "models.warehouses",
]
