"""Make, change and delete the languages of a shop, which always has one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from domain import audit
from domain.fields import Given, InputField, code_in, name_text, one_of, read_fields
from domain.references import LANGUAGE, find
from kernel.codes import SWITCH_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models.content import Language
from models.database import execute, transaction, value

_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})?")
_COUNTRY = re.compile(r"[A-Z]{2}")


def code_text(value: object) -> str:
    """Read the code of a language (`pt`, `pt-br`), in lower case (RFC 5646, its first parts)."""
    code = value.strip().lower() if isinstance(value, str) else ""
    if not _CODE.fullmatch(code):
        raise Malformed(f"is {shown(value)}; expected a code such as pt")
    return code


def country_text(value: object) -> str:
    """Read the code of a country, two capitals (ISO 3166); blank for none."""
    if value is None or value == "":
        return ""
    code = value.upper() if isinstance(value, str) else ""
    if not _COUNTRY.fullmatch(code):
        raise Malformed(f"is {shown(value)}; expected two letters such as BR")
    return code


LANGUAGE_FIELDS: Mapping[str, InputField] = {
    "code": InputField("code", code_text, code="code_invalid", required="required"),
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "country_code": InputField("country_code", country_text, code="country_invalid"),
    "direction": InputField("direction", one_of("ltr", "rtl"), code="direction_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}

# One change of a store's languages at a time, or the last two could be deleted at once.
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended('languages:' || $1::bigint, 0))"
_TAKEN = "SELECT EXISTS (SELECT 1 FROM languages WHERE tenant_id = $1 AND code = $2 AND id <> $3 AND deleted_at IS NULL)"
_OTHERS = """
SELECT EXISTS (SELECT 1 FROM languages WHERE tenant_id = $1 AND id <> $2 AND status = 'A' AND deleted_at IS NULL)
"""
_KNOWN = "SELECT EXISTS (SELECT 1 FROM languages WHERE tenant_id = $1 AND code = $2 AND deleted_at IS NULL)"
_FIRST = """
SELECT code FROM languages WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY status, id LIMIT 1
"""


async def create_language(scope: Scope, given: Given) -> int:
    """Make a language and give its internal id: `code`*, `name`*, `country_code`, `direction` (`ltr`, `rtl`), `status`."""
    columns = read_fields(LANGUAGE_FIELDS, given, creating=True)
    async with transaction(scope):
        await execute(_HOLD, scope.store.id)
        await _refuse_taken(scope, columns["code"], 0)
        language = Language(**columns, created_at=scope.now, updated_at=scope.now)
        await language.save()
        language_id: int = language.id
        await audit.record(scope, "language.created", "language", language.public_id)
    return language_id


async def update_language(scope: Scope, language: object, given: Given) -> int:
    """Change a language partially and give its internal id. Raises RuleViolation for switching off the only one that is on."""
    columns = read_fields(LANGUAGE_FIELDS, given)
    async with transaction(scope):
        await execute(_HOLD, scope.store.id)
        language_id = await find(scope, LANGUAGE, language)
        if "code" in columns:
            await _refuse_taken(scope, columns["code"], language_id)
        if columns.get("status") == "D":
            await _refuse_only(scope, language_id, "switched off")
        await Language.filter(id=language_id).update(**columns, updated_at=scope.now)
        await audit.record(scope, "language.updated", "language", language_id, {"fields": sorted(columns)})
    return language_id


async def delete_language(scope: Scope, language: object) -> None:
    """Delete a language. Raises RuleViolation for the only one (decisions section 1, Deleting)."""
    async with transaction(scope):
        await execute(_HOLD, scope.store.id)
        language_id = await find(scope, LANGUAGE, language)
        await _refuse_only(scope, language_id, "deleted")
        await Language.filter(id=language_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "language.deleted", "language", language_id)


async def language_of(scope: Scope, given: Given) -> dict[str, str]:
    """Give the column `lang_code` of what is written in a language: the one given, which must be the shop's."""
    code = given.get("lang_code")
    if code is None or code == "":
        return {}
    found = read_fields({"lang_code": InputField("lang_code", code_text, code="language_invalid")}, given)
    if not await value(_KNOWN, scope.store.id, found["lang_code"]):
        raise ValidationFailed(
            f"lang_code is {shown(code)}, which is no language of the store",
            field="lang_code",
            code="not_found",
        )
    return found


async def first_language(scope: Scope) -> str:
    """Give the code of the shop's first language, an active one if there is any."""
    code: str = await value(_FIRST, scope.store.id)
    return code


async def _refuse_taken(scope: Scope, code: str, language_id: int) -> None:
    if await value(_TAKEN, scope.store.id, code, language_id):
        raise ValidationFailed(f"code is {code!r}, which is taken", field="code", code="code_taken")


async def _refuse_only(scope: Scope, language_id: int, what: str) -> None:
    if not await value(_OTHERS, scope.store.id, language_id):
        raise RuleViolation(f"the only language can't be {what}", reason="only_language")
