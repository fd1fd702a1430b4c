-- The rows of disabled warehouses, store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        UPDATE warehouse_stock s SET is_active = false FROM warehouses w
        WHERE s.tenant_id = store AND w.tenant_id = store AND w.id = s.warehouse_id AND w.status <> 'A';
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;
