-- The products that exist, store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        PERFORM vitrine_update_unlisted_products(store, ARRAY(
            SELECT p.id FROM vendors v JOIN products p ON p.tenant_id = v.tenant_id AND p.vendor_id = v.id
            WHERE v.tenant_id = store AND (v.status <> 'A' OR v.deleted_at IS NOT NULL)
            UNION
            SELECT k.product_id FROM categories a JOIN categories c ON c.tenant_id = a.tenant_id
                AND (c.id = a.id OR starts_with(c.id_path, a.id_path || '/'))
            JOIN product_categories k ON k.tenant_id = c.tenant_id AND k.category_id = c.id
            WHERE a.tenant_id = store AND a.status <> 'A'
        ));
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;

-- Until the end of the update, which grants each role its privileges (models/connection/roles.py), the previous version's changes write
-- the new table.
DO $do$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON unlisted_products TO vitrine_app;
    END IF;
END
$do$;
