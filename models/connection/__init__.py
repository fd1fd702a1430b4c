"""Connections to PostgreSQL: the pool, the binding of a transaction to its store, replicas, notices. `database` is the interface."""
