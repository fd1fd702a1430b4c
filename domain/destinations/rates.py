"""Read the destinations of rates: those of taxes and of shipping methods."""

from __future__ import annotations

from collections.abc import Sequence

from kernel.errors import ValidationFailed
from kernel.fields import InputValues
from kernel.scope import Scope
from models.references import DESTINATION, resolve_all

MAX_RATES = 1_000


def check_rate_count(rates: Sequence[InputValues]) -> None:
    """Raise ValidationFailed for more rates than a record may have."""
    if len(rates) > MAX_RATES:
        raise ValidationFailed(
            f"rates has {len(rates)} entries; expected at most {MAX_RATES}", field="rates", code="too_many"
        )


async def resolve_destinations(scope: Scope, rates: Sequence[InputValues]) -> list[int]:
    """Return the ids of the rates' destinations; raises ValidationFailed for missing and repeated ones."""
    references = [rate.get("destination") for rate in rates]
    ids_by_reference = await resolve_all(scope, DESTINATION, references, field="destination")
    ids = [ids_by_reference[reference] for reference in references]
    if len(set(ids)) < len(ids):
        raise repeated_destination()
    return ids


def repeated_destination() -> ValidationFailed:
    """Return the error of rates with two entries for one destination, or for none."""
    return ValidationFailed("rates names a destination twice; expected each once", field="rates", code="duplicate")
