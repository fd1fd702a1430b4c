"""The error of the embedded PostgreSQL."""

from __future__ import annotations

from kernel.errors import OperatorError


class EmbeddedPostgresError(OperatorError):
    """One line for the user: the problem, the folder, and the remedy."""
