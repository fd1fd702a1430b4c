"""Find which records the database would refuse, without writing them: numbers and e-mails that others have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from domain.imports.numbered import ImportedBefore, ImportedRecord, find_taken, find_used, taken_message
from kernel.scope import Scope
from server.importers.cscart.entities import ShopEntity

EMAIL_USED = "another user of the store has the e-mail"


@dataclass
class DryRun:
    """The records that an import without writing has accepted so far; `emails` are those of accepted users."""

    scope: Scope
    emails: set[str] = field(default_factory=set)

    async def find_refused(
        self, entity: ShopEntity, records: Sequence[ImportedRecord], imported: Mapping[str, ImportedBefore]
    ) -> dict[str, str]:
        """Return the reasons of refused records by their ids at the source."""
        new = [record for record in records if record.external_id not in imported]
        taken = set(await find_taken(self.scope, entity.kind, new))
        refused = {record.external_id: taken_message(record.number) for record in new if record.number in taken}
        if entity.name == "users":
            refused |= await self._find_used_emails([record for record in records if record.external_id not in refused])
        return refused

    async def _find_used_emails(self, records: Sequence[ImportedRecord]) -> dict[str, str]:
        used = await find_used(self.scope, "users", "email", records)
        refused = {}
        for record in records:
            email = record.rows["users"][0]["email"]
            if email in used or email in self.emails:
                refused[record.external_id] = EMAIL_USED
            else:
                self.emails.add(email)
        return refused
