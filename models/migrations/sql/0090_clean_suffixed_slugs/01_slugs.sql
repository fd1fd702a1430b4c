-- As in 0023, but a base is cut where its suffix follows without a second separator, as `_stem` of domain/catalog/product_writing.py does.
-- Existing slugs stay: they are addresses.
CREATE OR REPLACE FUNCTION vitrine_free_slug(store_table text, store bigint, row_id bigint, base text) RETURNS text
    LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    candidate text := base;
    taken boolean;
BEGIN
    FOR attempt IN 2..100 LOOP
        EXECUTE format(
            'SELECT EXISTS (SELECT FROM %I WHERE tenant_id = $1 AND slug = $2 AND deleted_at IS NULL AND id IS DISTINCT FROM $3)', store_table
        ) INTO taken USING store, candidate, row_id;
        EXIT WHEN NOT taken;
        candidate := rtrim(left(base, 110), '-_./') || '-' || CASE WHEN attempt <= 11 THEN attempt::text ELSE substr(md5(random()::text), 1, 8) END;
    END LOOP;
    RETURN candidate;
END
$function$;
