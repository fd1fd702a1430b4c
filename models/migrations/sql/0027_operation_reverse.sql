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
            'ALTER TABLE %I RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_insert_scale_factor,'
            ' autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)', hot_table
        );
    END LOOP;
END
$$;
ALTER TABLE event_sequences RESET (fillfactor);
ALTER TABLE idempotency_claims RESET (fillfactor);
ALTER TABLE sessions RESET (fillfactor);
CREATE INDEX outbox_events_dispatched_idx ON outbox_events (dispatched_at) WHERE dispatched_at IS NOT NULL;
DROP INDEX gateway_notifications_body_idx;
ALTER TABLE tenants DROP COLUMN is_read_only;
