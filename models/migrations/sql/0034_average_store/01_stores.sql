-- A statement that is planned once for all stores is planned for a store of average size. Among many small stores that is one of ten rows,
-- for which every index that begins with tenant_id is as good as another: a large store was then read as a whole by (tenant_id, public_id)
-- to show the categories or images of fifty products.
--
-- The planner takes the average to be the rows of the table divided by the number of stores. It is set to a 5,000th of the rows: the average
-- store has 5,000, but never more than the largest one, by the table's most common values, nor than the table. For so many, keys are looked
-- up in the index that has them, which is as good for ten; and no table is read as a whole. A fixed number of stores would make the average
-- grow with the table, until it is.
--
-- Takes effect with the next ANALYZE. That of one column leaves the counts that autovacuum goes by; a table that was never analysed has no
-- statistics to correct. Neither statement conflicts with reads and writes.
CREATE OR REPLACE FUNCTION vitrine_keep_apart(store_table regclass) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', store_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', store_table);
    EXECUTE format($policy$
        CREATE POLICY own_store ON %s
        USING (tenant_id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
        WITH CHECK (tenant_id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
        $policy$, store_table);
    EXECUTE format('ALTER TABLE %s ALTER tenant_id SET (n_distinct = -0.0002)', store_table);
END
$function$;

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
        EXECUTE format('ALTER TABLE %s ALTER tenant_id SET (n_distinct = -0.0002)', store_table.name);
        IF store_table.is_analysed THEN
            EXECUTE format('ANALYZE %s (tenant_id)', store_table.name);
        END IF;
    END LOOP;
END
$$;
