-- Orders of lists that sorted all orders or entries of a store (bench/every_list.py): half a second and more of 200,000.
CREATE INDEX CONCURRENTLY orders_currency_idx ON orders (tenant_id, currency, id) WHERE deleted_at IS NULL;
CREATE INDEX CONCURRENTLY orders_delivery_time_idx ON orders (tenant_id, left(coalesce(delivery_time, ''), 255), id) WHERE deleted_at IS NULL;
CREATE INDEX CONCURRENTLY orders_tracking_code_idx ON orders (tenant_id, left(coalesce(tracking_code, ''), 255), id) WHERE deleted_at IS NULL;
CREATE INDEX CONCURRENTLY ledger_entries_amount_idx ON ledger_entries (tenant_id, amount_cents, id);
CREATE INDEX CONCURRENTLY ledger_entries_available_idx ON ledger_entries (tenant_id, available_at, id);
