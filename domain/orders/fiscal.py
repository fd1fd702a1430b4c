"""Store fiscal note (NF-e) data with an order, as a Brazilian ERP returns it after issuing the note.

Nothing is fetched or parsed (docs/reference/legacy.md#extra-order-fields).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import orjson

from domain import events
from domain.orders.locked import lock_order
from kernel.documents import CHAVE_NOTA_CHECK, has_valid_check_digit, parse_chave_nota
from kernel.fields import InputField, InputValues, read_fields, text
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import execute, transaction

_UPDATE = """
UPDATE orders SET fields_data = (fields_data - $3::text[]) || $4::text::jsonb, updated_at = $5
WHERE tenant_id = $1 AND id = $2 AND (fields_data - $3::text[]) || $4::text::jsonb <> fields_data
"""


def _access_key(value: object) -> str | None:
    if value is None:
        return None
    try:
        return parse_chave_nota(value)
    except InvalidValue as error:
        raise InvalidValue(str(error).removeprefix("chave_nota ")) from error


def _base64(value: object) -> str | None:
    """Validate base64, ignoring white space as in mail and XML; the value is stored unchanged."""
    if value is None:
        return None
    encoded = str(text()(value))
    try:
        base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidValue(f"is {repr_value(value)}; expected base64") from error
    return encoded


def _text(value: object) -> str | None:
    return None if value is None else str(text()(value))


FIELDS: Mapping[str, InputField] = {
    "link_nota": InputField("link_nota", _text),
    "codigo_pedido_erp": InputField("codigo_pedido_erp", _text),
    "chave_nota": InputField("chave_nota", _access_key, code="chave_nota_invalid"),
    "xml_nota": InputField("xml_nota", _text),
    "pdf_nota": InputField("pdf_nota", _text),
    "nota_fiscal": InputField("nota_fiscal", _text),
    "base64_xml": InputField("base64_xml", _base64, code="base64_invalid"),
}


async def set_fiscal_data(scope: Scope, order: object, values: InputValues) -> int:
    """Merge fiscal note data into the order's `fields` and return the order's id; null removes a field.

    An access key (`chave_nota`) with a wrong check digit is stored and flagged. Raises NotFound and ValidationFailed.
    """
    fields = read_fields(FIELDS, values)
    if fields.get("chave_nota") is not None:
        fields[CHAVE_NOTA_CHECK] = "Y" if has_valid_check_digit(fields["chave_nota"]) else "N"
    elif "chave_nota" in fields:
        fields[CHAVE_NOTA_CHECK] = None
    async with transaction(scope):
        locked = await lock_order(scope, order)
        if await _store(scope, locked.id, fields):
            await audit.record(
                scope, "order.fiscal_data_set", "order", locked.public_id, {"fields": sorted(map(str, values))}
            )
            await events.emit_order_updated(scope, locked.id)
    return locked.id


async def _store(scope: Scope, order_id: int, fields: Mapping[str, Any]) -> bool:
    removed = [name for name, value in fields.items() if value is None]
    stored = {name: value for name, value in fields.items() if value is not None}
    return await execute(_UPDATE, scope.store.id, order_id, removed, orjson.dumps(stored).decode(), scope.now) > 0
