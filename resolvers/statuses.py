"""Assemble what can be asked and done about the statuses of orders and parcels."""

from __future__ import annotations

from auth.access import Access
from domain.orders import statuses
from domain.orders.read import STATUSES
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.inputs.statuses import StatusInput
from schema.types.statuses import StatusObject

STATUS_WRITER = Writer(
    create=statuses.create_status,
    update=statuses.update_status,
    delete=statuses.delete_status,
    access=Access(privileges=("manage_orders",)),
    texts=(
        "Add a status: orders (or parcels) take its letter from then on.",
        "Change a status; what is built in keeps its letter and its stock rule.",
        "Delete a status that the store added and no order (or parcel) has.",
    ),
)

QUERIES = (reads(StatusObject, STATUSES, "status", "statuses"),)
MUTATIONS = (writes(StatusObject, STATUSES, "status", StatusInput, STATUS_WRITER),)
