-- The entries of products that have one of the two already, store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        UPDATE search_entries e SET in_advance = p.out_of_stock_action = 'B', available_since = p.available_since
        FROM products p
        WHERE e.tenant_id = store AND p.tenant_id = store AND p.id = e.product_id
            AND (p.out_of_stock_action = 'B' OR p.available_since IS NOT NULL);
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;
