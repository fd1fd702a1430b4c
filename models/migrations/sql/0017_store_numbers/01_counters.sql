-- The number of a record is its id. In the tables below it is its store's own: it begins at 1 in each store and grows by one there.

-- The highest number that a store has given out in a table; a row is created with the first number. Numbers of deleted rows count.
CREATE TABLE number_counters (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT number_counters_tenant_fkey REFERENCES tenants (id),
    entity text NOT NULL,
    last bigint NOT NULL CONSTRAINT number_counters_last_not_negative CHECK (last >= 0),
    CONSTRAINT number_counters_pkey PRIMARY KEY (tenant_id, entity)
);
-- Room for new versions of a row on its page: a counter changes often and no index contains `last`.
ALTER TABLE number_counters SET (fillfactor = 50);

-- Before a row without an id is inserted: take the store's next number. The first row of a statement raises the counter, whose row
-- is then locked until the transaction ends; the others count on in a setting, because a row that is updated once per inserted row
-- grows a chain of versions that every update follows from its beginning. The setting contains the store, what the counter was
-- before, and the number taken last.
CREATE FUNCTION vitrine_take_number() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    setting text := 'vitrine.numbers_' || TG_TABLE_NAME;
    taken bigint[] := string_to_array(nullif(current_setting(setting, true), ''), ' ')::bigint[];
BEGIN
    IF taken IS NULL OR taken[1] <> NEW.tenant_id THEN
        IF taken IS NOT NULL THEN  -- a statement for several stores, which only a superuser can run
            UPDATE number_counters SET last = greatest(last, taken[3]) WHERE tenant_id = taken[1] AND entity = TG_TABLE_NAME;
        END IF;
        INSERT INTO number_counters AS c (tenant_id, entity, last) VALUES (NEW.tenant_id, TG_TABLE_NAME, 1)
        ON CONFLICT (tenant_id, entity) DO UPDATE SET last = c.last + 1
        RETURNING ARRAY[c.tenant_id, c.last - 1, c.last - 1] INTO taken;
    END IF;
    taken[3] := taken[3] + 1;
    PERFORM set_config(setting, array_to_string(taken, ' '), true);
    NEW.id := taken[3];
    RETURN NEW;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_take_number() FROM PUBLIC;

-- After each statement that inserts: set the counter to the highest number given out. That takes back the numbers of rows that
-- ON CONFLICT did not insert (nobody else could take one since), and raises the counter above ids that the statement contained:
-- a plain read where these were reserved before.
CREATE FUNCTION vitrine_count_numbers() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    setting text := 'vitrine.numbers_' || TG_TABLE_NAME;
    taken bigint[] := string_to_array(nullif(current_setting(setting, true), ''), ' ')::bigint[];
    store bigint;
    highest bigint;
BEGIN
    IF taken IS NOT NULL THEN
        PERFORM set_config(setting, '', true);
        SELECT greatest(taken[2], max(id)) INTO highest FROM inserted WHERE tenant_id = taken[1];
        UPDATE number_counters SET last = highest WHERE tenant_id = taken[1] AND entity = TG_TABLE_NAME AND last <> highest;
    END IF;
    FOR store, highest IN SELECT tenant_id, max(id) FROM inserted GROUP BY tenant_id LOOP
        PERFORM FROM number_counters WHERE tenant_id = store AND entity = TG_TABLE_NAME AND last >= highest;
        IF NOT FOUND AND highest > 0 THEN
            INSERT INTO number_counters AS c (tenant_id, entity, last) VALUES (store, TG_TABLE_NAME, highest)
            ON CONFLICT (tenant_id, entity) DO UPDATE SET last = greatest(c.last, excluded.last);
        END IF;
    END LOOP;
    RETURN NULL;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_count_numbers() FROM PUBLIC;

-- For this migration and those to come: let each store number the rows of a table, those that exist included.
CREATE FUNCTION vitrine_number_by_store(store_table regclass) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE format('ALTER TABLE %s ALTER COLUMN id DROP IDENTITY IF EXISTS', store_table);
    -- The owner reads all stores' rows here, while nobody else can read the table.
    EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', store_table);
    -- One look at the end of the primary key per store, not a scan of the table.
    EXECUTE format($insert$
        INSERT INTO number_counters (tenant_id, entity, last)
        SELECT s.id, %2$L, h.id FROM tenants s, LATERAL (SELECT max(t.id) AS id FROM %1$s t WHERE t.tenant_id = s.id) h
        WHERE h.id > 0 ORDER BY s.id
        $insert$, store_table, (SELECT relname FROM pg_catalog.pg_class WHERE oid = store_table));
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', store_table);
    EXECUTE format('CREATE TRIGGER take_number BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.id IS NULL)'
        ' EXECUTE FUNCTION vitrine_take_number()', store_table);
    EXECUTE format('CREATE TRIGGER count_numbers AFTER INSERT ON %s REFERENCING NEW TABLE AS inserted'
        ' FOR EACH STATEMENT EXECUTE FUNCTION vitrine_count_numbers()', store_table);
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_number_by_store(regclass) FROM PUBLIC;
