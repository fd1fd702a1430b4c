"""Layout blocks; their content is interpreted by the storefront only."""

from __future__ import annotations

from collections.abc import Mapping

from domain.content.languages import set_language
from domain.purchase.draft import json_object
from domain.records import RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.fields import InputField, code_in, name_text, text
from models.tables.content import Block

_MAX_TYPE = 64

BLOCK_FIELDS: Mapping[str, InputField] = {
    "type": InputField("type", text(_MAX_TYPE, blank=False), code="type_invalid", required="required"),
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "properties": InputField("properties", json_object, code="properties_invalid"),
    "content": InputField("content", json_object, code="content_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}


BLOCK_RECORDS = RecordType(Block, BLOCK_FIELDS, prepare=set_language)
"""`lang_code` defaults to the store's first language; an update replaces the objects, it doesn't merge them."""
