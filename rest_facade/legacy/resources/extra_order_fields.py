"""Describe the invoice data of an order, written here and rendered in the order's `fields`."""

from __future__ import annotations

from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import RecordField, Resource

EXTRA_ORDER_FIELDS = Resource(
    path="extra_order_fields",
    display_name="order",
    privilege_area="orders",
    operations="ExtraOrderFields",
    root_fields={"update": "order_set_fiscal_data"},
    actions=("update",),
    fields=(),
    input_fields=tuple(
        RecordField(name, types.TEXT, name)
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
