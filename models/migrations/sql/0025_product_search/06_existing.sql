-- The entries and words of the products that exist, store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        PERFORM vitrine_update_search_entries(store, ARRAY(SELECT p.id FROM products p WHERE p.tenant_id = store AND p.deleted_at IS NULL));
        PERFORM vitrine_add_search_words(store, ARRAY(SELECT p.id FROM products p WHERE p.tenant_id = store AND p.deleted_at IS NULL));
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;

-- Until the end of the update, which grants each role its privileges (models/roles.py), the previous version serves: its changes of products
-- write the new tables, its searches read the new column.
DO $do$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_search') THEN
        GRANT SELECT (search) ON products TO vitrine_search;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON search_entries, search_words TO vitrine_app;
    END IF;
END
$do$;
