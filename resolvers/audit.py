"""Resolve the audit log."""

from __future__ import annotations

from resolvers.entity_queries import build_entity_queries
from schema.types.stores import AuditEntryObject

QUERIES = (build_entity_queries(AuditEntryObject),)
