"""Assemble what can be asked of the audit log."""

from __future__ import annotations

from domain.audit_read import AUDIT_ENTRIES
from resolvers.reads import reads
from schema.types.audit import AuditEntryObject

QUERIES = (reads(AuditEntryObject, AUDIT_ENTRIES, "audit_entry", "audit_entries", connection=True),)
