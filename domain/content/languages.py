"""The languages of a store, which always has at least one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, name_text, one_of, read_fields
from kernel.ids import parse_reference
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import references
from models.connection.database import execute, fetchval
from models.tables.content import Language

_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})?")
_COUNTRY = re.compile(r"[A-Z]{2}")


def code_text(value: object) -> str:
    """Read a language code (`pt`, `pt-br`), lower-cased (a subset of RFC 5646)."""
    code = value.strip().lower() if isinstance(value, str) else ""
    if not _CODE.fullmatch(code):
        raise InvalidValue(f"is {repr_value(value)}; expected a code such as pt")
    return code


def country_text(value: object) -> str:
    """Read a country code of two capital letters (ISO 3166); blank for none."""
    if value is None or value == "":
        return ""
    code = value.upper() if isinstance(value, str) else ""
    if not _COUNTRY.fullmatch(code):
        raise InvalidValue(f"is {repr_value(value)}; expected two letters such as BR")
    return code


LANGUAGE_FIELDS: Mapping[str, InputField] = {
    "code": InputField("code", code_text, code="code_invalid", required="required"),
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "country_code": InputField("country_code", country_text, code="country_invalid"),
    "direction": InputField("direction", one_of("ltr", "rtl"), code="direction_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
COPIED_FROM = "variables_from"
"""The input field with the language whose variables a new one gets; empty: the store's first."""

# Changes of a store's languages are serialized, or the last two could be deleted concurrently.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('languages:' || $1::bigint, 0))"
_TAKEN = (
    "SELECT EXISTS (SELECT 1 FROM languages WHERE tenant_id = $1 AND code = $2 AND id <> $3 AND deleted_at IS NULL)"
)
_OTHER_ACTIVE = """
SELECT EXISTS (SELECT 1 FROM languages WHERE tenant_id = $1 AND id <> $2 AND status = 'A' AND deleted_at IS NULL)
"""
# Variables that a deleted language of this code has left stay as they are.
_COPY_VARIABLES = """
INSERT INTO language_variables (tenant_id, public_id, lang_code, name, value, created_at, updated_at)
SELECT tenant_id, vitrine_uuid7(), $3, name, value, $4, $4 FROM language_variables WHERE tenant_id = $1 AND lang_code = $2
ON CONFLICT (tenant_id, lang_code, name) DO NOTHING
"""
_EXISTS = "SELECT EXISTS (SELECT 1 FROM languages WHERE tenant_id = $1 AND code = $2 AND deleted_at IS NULL)"
_BY_CODE = "SELECT id FROM languages WHERE tenant_id = $1 AND code = $2 AND deleted_at IS NULL"
_DEFAULT = """
SELECT code FROM languages WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY status, id LIMIT 1
"""


async def read_language(scope: Scope, values: InputValues, field: str = "lang_code") -> dict[str, str]:
    """Return the validated code in a field of the input as a column, empty if absent; it must be a language of the store."""
    code = values.get(field)
    if code is None or code == "":
        return {}
    columns = read_fields({field: InputField(field, code_text, code="language_invalid")}, values)
    if not await fetchval(_EXISTS, scope.store.id, columns[field]):
        message = f"{field} is {repr_value(code)}, which is no language of the store"
        raise ValidationFailed(message, field=field, code="not_found")
    return columns


async def default_language(scope: Scope) -> str:
    """Return the code of the store's first language, preferring active ones."""
    code: str = await fetchval(_DEFAULT, scope.store.id)
    return code


async def set_language(change: Change) -> None:
    """Add the validated `lang_code` to the columns; a new record without one gets the store's first language."""
    change.columns |= await read_language(change.scope, change.values)
    if change.is_new and "lang_code" not in change.columns:
        change.columns["lang_code"] = await default_language(change.scope)


async def find_language(scope: Scope, subject: object) -> int:
    """Return the internal id of a language by ID or code; raises NotFound."""
    if parse_reference(subject) is not None:
        return await references.find(scope, references.LANGUAGE, subject)
    number: int | None = await fetchval(_BY_CODE, scope.store.id, str(subject).lower())
    if number is None:
        raise NotFound(references.LANGUAGE.name)
    return number


async def _prepare(change: Change) -> None:
    await _check(change)
    if change.is_new and change.values.get(COPIED_FROM) is not None:
        source = await read_language(change.scope, change.values, COPIED_FROM)
        change.parts[COPIED_FROM] = source.get(COPIED_FROM) or await default_language(change.scope)


async def _copy_variables(change: Change) -> None:
    """Give a new language the variables of the one that the input names."""
    if source := change.parts.get(COPIED_FROM):
        scope = change.scope
        await execute(_COPY_VARIABLES, scope.store.id, source, change.columns["code"], scope.now)


async def _check(change: Change) -> None:
    code = change.columns.get("code")
    if code is not None and await fetchval(_TAKEN, change.scope.store.id, code, change.record_id):
        raise ValidationFailed(f"code is {code!r}, which is taken", field="code", code="code_taken")
    if not change.is_new and change.columns.get("status") == "D":
        await _check_not_only(change.scope, change.record_id, "switched off")


async def _check_not_only(scope: Scope, language_id: int, action: str = "deleted") -> None:
    """Refuse to disable or delete the only active language (docs/reference/shared.md#deletion)."""
    if not await fetchval(_OTHER_ACTIVE, scope.store.id, language_id):
        raise RuleViolation(f"the only language can't be {action}", reason="only_language")


LANGUAGE_RECORDS = RecordType(
    Language,
    LANGUAGE_FIELDS,
    lock=_LOCK,
    find=find_language,
    prepare=_prepare,
    after_save=_copy_variables,
    before_delete=_check_not_only,
)
