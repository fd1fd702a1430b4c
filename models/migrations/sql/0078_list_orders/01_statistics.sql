-- The expressions of the new indexes have statistics of their own.
ANALYZE orders, ledger_entries;
