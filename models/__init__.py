"""Tables, declared as Tortoise models; their migrations, connections and reading."""

from typing import Any

from tortoise import models as _tortoise
from tortoise.filters import get_filters_for_field

# Tortoise reads the source of each model for `#:` comments, which takes a tenth of a start; ours have none.
assert callable(_tortoise._get_comments)
_tortoise._get_comments = lambda cls: {}

# Tortoise describes 25 comparisons of each field, in 16 MB. Only tests read by models, and compare by these.
_COMPARISONS = ("", "__in", "__isnull")


def _few_filters(field_name: str, field: Any, source_field: str) -> dict[str, Any]:
    filters = get_filters_for_field(field_name, field, source_field)
    return {
        name: filters[name] for name in (f"{field_name}{comparison}" for comparison in _COMPARISONS) if name in filters
    }


assert vars(_tortoise)["get_filters_for_field"] is get_filters_for_field
_tortoise.get_filters_for_field = _few_filters  # type: ignore[attr-defined]

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
