-- The entries of products that have tags already, store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        PERFORM vitrine_update_entry_tags(store, ARRAY(SELECT DISTINCT l.product_id FROM product_tags l WHERE l.tenant_id = store));
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;
