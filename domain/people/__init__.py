"""Accounts of users: registration, changes, second factor, usergroups and removal."""
