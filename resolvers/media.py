"""Resolve media files."""

from __future__ import annotations

from resolvers.entity_queries import build_entity_queries
from schema.types.media import MediaFileObject

QUERIES = (build_entity_queries(MediaFileObject),)
