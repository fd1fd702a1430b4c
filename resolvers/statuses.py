"""Resolve order and shipment statuses."""

from __future__ import annotations

from auth.access import Access
from domain.orders import statuses
from domain.orders.read import STATUSES
from resolvers.entity_mutations import EntityMutations, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.inputs.statuses import StatusInput
from schema.types.statuses import StatusObject

STATUS_MUTATIONS = EntityMutations(
    create=statuses.create_status,
    update=statuses.update_status,
    delete=statuses.delete_status,
    access=Access(privileges=("manage_orders",)),
    descriptions=(
        "Create a custom order or shipment status.",
        "Update a status; built-in statuses keep their code and stock rule.",
        "Delete a custom status that is not in use.",
    ),
)

QUERIES = (build_entity_queries(StatusObject, STATUSES, "status", "statuses"),)
MUTATIONS = (build_entity_mutations(StatusObject, "status", StatusInput, STATUS_MUTATIONS),)
