-- The third lock: a connection sees and writes the rows of the store its setting names, and none while it names none.
-- FORCE binds the owner too. Roles that work across stores get policies of their own in models/roles.py.

DO $$
DECLARE
    store_table regclass;
BEGIN
    FOR store_table IN
        SELECT attrelid::regclass FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
        WHERE attname = 'tenant_id' AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
        ORDER BY relname
    LOOP
        PERFORM vitrine_keep_apart(store_table);
    END LOOP;
END
$$;

-- A store reads all of the platform's table of stores (there is nothing secret that is not encrypted) and changes its own row.
-- Not FORCE: the owner makes stores where there is no other role.
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_readable ON tenants FOR SELECT USING (true);
CREATE POLICY tenants_own_row ON tenants FOR UPDATE
    USING (id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
    WITH CHECK (id = nullif(current_setting('vitrine.tenant', true), '')::bigint);
