"""Hold the migrations: hand-written SQL, and beside it what Tortoise shall believe the models are.

A migration is a list of `RunSQL` (the tables as they are) and `StateOnly` (Tortoise's picture of them). Tortoise's own operations
never touch the database: they know no composite keys, policies or partial indexes, and skip constraints without a word.
"""
