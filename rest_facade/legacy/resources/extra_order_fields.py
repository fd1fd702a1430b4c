"""Describe the fiscal note's data, which is written here and shown under the order's `fields`."""

from __future__ import annotations

from rest_facade.legacy.resource import RecordField, Resource
from rest_facade.legacy.value_types import TEXT

EXTRA_ORDER_FIELDS = Resource(
    path="extra_order_fields",
    key="order_id",
    thing="order",
    area="orders",
    operations="ExtraOrderFields",
    does=("update",),
    fields=(),
    inputs=tuple(
        RecordField(name, TEXT, name)
        for name in (
            "link_nota",
            "codigo_pedido_erp",
            "chave_nota",
            "xml_nota",
            "pdf_nota",
            "nota_fiscal",
            "base64_xml",
        )
    ),
)
