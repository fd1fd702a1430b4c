"""Assemble what can be asked and done about users and usergroups."""

from __future__ import annotations

from domain.people.read import USERGROUPS, USERS
from resolvers.reads import reads
from schema.types.people import User, Usergroup

QUERIES = (
    reads(User, USERS, "user", "users", connection=True),
    reads(Usergroup, USERGROUPS, "usergroup", "usergroups"),
)
