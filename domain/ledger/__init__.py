"""The marketplace's ledger: entries of orders, balances, payouts and reports (docs/ledger.md)."""
