"""Resolve order and shipment statuses."""

from __future__ import annotations

from auth.access import Access
from domain.orders import statuses
from resolvers.entity_mutations import RecordFunctions, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.types.orders import StatusInput, StatusObject

_STATUSES = RecordFunctions(statuses.create_status, statuses.update_status, statuses.delete_status)

QUERIES = (build_entity_queries(StatusObject),)
MUTATIONS = (
    build_entity_mutations(
        StatusObject,
        StatusInput,
        _STATUSES,
        Access(privileges=("manage_orders",)),
        create_description="Create a custom order or shipment status.",
        update_description="Update a status; built-in statuses keep their code and stock rule.",
        delete_description="Delete a custom status that is not in use.",
    ),
)
