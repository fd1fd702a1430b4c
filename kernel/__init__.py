"""Shared base of every package: errors, scope, settings, money, ids, time. Imports no other package of the product."""
