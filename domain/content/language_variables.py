"""Language variables: texts of storefronts by name and language (docs/reference/legacy.md#language-variables)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from domain.content.languages import default_language, set_language
from domain.records import Change, RecordType
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import MAX_NAME, InputField, InputValues, name_text, text
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope, active_scope
from kernel.text import NFC_RATIO, nfc, repr_value
from models import audit
from models.audit import AuditLogEntry
from models.connection.database import fetch, fetchval, transaction
from models.references import LANGUAGE_VARIABLE
from models.tables.content import LanguageVariable

LANGUAGE_VARIABLE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "value": InputField("value", text(), code="value_invalid"),
}
_NAMED = "SELECT id FROM language_variables WHERE tenant_id = $1 AND lang_code = $2 AND name = $3"
_DELETE_NAMED = "DELETE FROM language_variables WHERE tenant_id = $1 AND name = $2 RETURNING public_id"


def _taken(change: Change) -> ValidationFailed:
    if "name" in change.columns:
        message = f"name is {repr_value(change.columns['name'])}, which another variable of that language has"
        return ValidationFailed(message, field="name", code="name_taken")
    message = f"lang_code is {repr_value(change.columns['lang_code'])}, in which another variable has the name"
    return ValidationFailed(message, field="lang_code", code="name_taken")


LANGUAGE_VARIABLE_RECORDS = RecordType(
    LanguageVariable,
    LANGUAGE_VARIABLE_FIELDS,
    prepare=set_language,
    unique={"language_variables_name_key": _taken},
    hard_delete=True,
)
"""`lang_code` defaults to the store's first language."""


async def find_language_variable(scope: Scope, subject: object, lang_code: str | None) -> Reference:
    """Return the id of a variable by id, or by name in a language (default: the store's first); raises NotFound."""
    reference = parse_reference(subject)
    if reference is not None:
        return reference
    with active_scope(scope):
        language = lang_code.strip().lower() if lang_code else await default_language(scope)
        number: int | None = await fetchval(_NAMED, scope.store.id, language, _name(subject))
    if number is None:
        raise NotFound(LANGUAGE_VARIABLE.name)
    return number


async def put_language_variable(scope: Scope, subject: object, lang_code: str | None, values: InputValues) -> int:
    """Update a variable, named as for `find_language_variable`, or create the one of that name; return its number."""
    try:
        number = await find_language_variable(scope, subject, lang_code)
    except NotFound:
        language = {"lang_code": lang_code} if lang_code else {}
        return await LANGUAGE_VARIABLE_RECORDS.create(scope, {"name": str(subject), **language, **values})
    return await LANGUAGE_VARIABLE_RECORDS.update(scope, number, values)


async def delete_language_variables(scope: Scope, name: str) -> None:
    """Delete the variables of a name in all languages; raises NotFound when there is none."""
    async with transaction(scope):
        deleted = await fetch(_DELETE_NAMED, scope.store.id, _name(name))
        if not deleted:
            raise NotFound(LANGUAGE_VARIABLE.name)
        entry = partial(AuditLogEntry, "language_variable.deleted", "language_variable")
        await audit.record_all(scope, [entry(row["public_id"]) for row in deleted])


def _name(subject: object) -> str:
    return nfc(str(subject)[: NFC_RATIO * MAX_NAME])
