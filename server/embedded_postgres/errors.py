"""The one error of the embedded PostgreSQL."""


class EmbeddedPostgresError(Exception):
    """One clear line for the person at the terminal: what is wrong, in which folder, and what to do."""
