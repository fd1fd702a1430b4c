"""The error of the embedded PostgreSQL."""


class EmbeddedPostgresError(Exception):
    """One line for the user: the problem, the folder, and the remedy."""
