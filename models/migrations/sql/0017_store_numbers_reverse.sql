-- Undo 0017_store_numbers: numbers go on for all stores together, above the highest of any of them. Records keep theirs.

DO $$
DECLARE
    store_table regclass;
BEGIN
    ALTER TABLE number_counters NO FORCE ROW LEVEL SECURITY;
    FOR store_table IN SELECT tgrelid::regclass FROM pg_catalog.pg_trigger WHERE tgname = 'take_number' ORDER BY 1 LOOP
        EXECUTE format('DROP TRIGGER take_number ON %s', store_table);
        EXECUTE format('DROP TRIGGER count_numbers ON %s', store_table);
        EXECUTE format('ALTER TABLE %s ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY', store_table);
        PERFORM setval(pg_get_serial_sequence(store_table::text, 'id'), max(last))
        FROM number_counters WHERE entity = store_table::text HAVING max(last) > 0;
    END LOOP;
END
$$;

DROP TABLE number_counters;
DROP FUNCTION vitrine_number_by_store(regclass);
DROP FUNCTION vitrine_count_numbers();
DROP FUNCTION vitrine_take_number();
