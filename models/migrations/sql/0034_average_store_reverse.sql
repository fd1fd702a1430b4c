-- Undo 0034_average_store.

DO $$
DECLARE
    store_table record;
BEGIN
    FOR store_table IN
        SELECT c.oid::regclass AS name, c.reltuples > 0 AS is_analysed
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        WHERE a.attname = 'tenant_id' AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER tenant_id RESET (n_distinct)', store_table.name);
        IF store_table.is_analysed THEN
            EXECUTE format('ANALYZE %s (tenant_id)', store_table.name);
        END IF;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION vitrine_keep_apart(store_table regclass) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', store_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', store_table);
    EXECUTE format($policy$
        CREATE POLICY own_store ON %s
        USING (tenant_id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
        WITH CHECK (tenant_id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
        $policy$, store_table);
END
$function$;
