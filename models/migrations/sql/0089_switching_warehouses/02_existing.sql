-- Those that the job hasn't finished, store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        UPDATE warehouses w SET is_switching = true WHERE w.tenant_id = store AND (EXISTS (
            SELECT FROM warehouse_stock s WHERE s.tenant_id = store AND s.warehouse_id = w.id
                AND s.is_active = (w.status <> 'A' OR w.deleted_at IS NOT NULL)
        ) OR w.deleted_at IS NOT NULL AND EXISTS (SELECT FROM warehouse_stock s WHERE s.tenant_id = store AND s.warehouse_id = w.id));
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;
