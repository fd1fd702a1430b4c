-- No statement reads it: old events are found by the time of their creation. Each event was written to it when it was dispatched.
DROP INDEX outbox_events_dispatched_idx;

-- Room for new versions of a row on its page, so that updates of columns without an index need no index entries (HOT).
-- Orders, events and deliveries are not among them: each of their updates changes a column that lists sort or workers search by.
ALTER TABLE event_sequences SET (fillfactor = 90);
ALTER TABLE idempotency_claims SET (fillfactor = 60);
ALTER TABLE sessions SET (fillfactor = 90);

-- With the default of a fifth of the table, a large one is vacuumed and analyzed too seldom: after weeks, or in the middle of a sale.
DO $$
DECLARE
    hot_table text;
BEGIN
    FOREACH hot_table IN ARRAY ARRAY[
        'orders', 'order_lines', 'order_status_changes', 'carts', 'cart_items', 'charges', 'payments', 'gateway_notifications',
        'outbox_events', 'event_deliveries', 'event_sequences', 'idempotency_claims', 'mails', 'notifications', 'sessions',
        'refresh_tokens', 'audit_entries', 'products', 'combinations', 'search_entries', 'users'
    ] LOOP
        EXECUTE format(
            'ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,'
            ' autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,'
            ' autovacuum_analyze_threshold = 1000)', hot_table
        );
    END LOOP;
END
$$;
