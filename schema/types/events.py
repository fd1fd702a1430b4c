"""Define the events of the event feed."""

from __future__ import annotations

from domain.event_feed import ACCESS
from models.reading.queries import ToOne
from schema.fields import object_type, output_field, relation
from schema.pagination import connection_type
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.catalog import CategoryObject
from schema.types.order_records import ShipmentObject
from schema.types.references import Order, Product, User

SUBJECTS = {
    "order": ("orders", ("order",)),
    "product": ("products", ("product", "stock")),
    "user": ("users", ("user", "customer")),
    "category": ("categories", ("category",)),
    "shipment": ("shipments", ("shipment",)),
}
"""The fields of an event that select its subject: the table, and the types of subject."""


@object_type("Event", access=ACCESS)
class EventObject:
    """An event of the store's event feed."""

    id: str = output_field("The event ID, `evt_…`, the same in webhook deliveries.")
    event: str = output_field("The event name.")
    created_at: DateTime = output_field("When it happened.")
    tenant_id: ID = output_field("The store.")
    subject_type: str = output_field("The type of the event's subject.")
    subject_id: ID = output_field("The ID of the event's subject.")
    sequence: BigInt = output_field("The sequence number among the subject's events, starting at 1.")
    data: JSON = output_field("The data of the event, as in webhook deliveries.")
    cursor: str = output_field("The cursor of the event, to be passed as `after`.")
    order: Order | None = relation(ToOne("order"), "The subject as it is now, if it is an order.")
    product: Product | None = relation(ToOne("product"), "The subject as it is now, if it is a product, or its stock.")
    user: User | None = relation(ToOne("user"), "The subject as it is now, if it is a user or customer.")
    shipment: ShipmentObject | None = relation(ToOne("shipment"), "The subject as it is now, if it is a shipment.")
    category: CategoryObject | None = relation(ToOne("category"), "The subject as it is now, if it is a category.")


EventConnectionObject = connection_type(EventObject, "Event")
