CREATE OR REPLACE FUNCTION vitrine_product_lexemes(words text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT t.words || array_remove(ARRAY(SELECT '~' || vitrine_stem(w.word) FROM (SELECT DISTINCT unnest(t.words) AS word) AS w), NULL)
        FROM (SELECT vitrine_product_words(words) AS words OFFSET 0) AS t
    );

CREATE OR REPLACE FUNCTION vitrine_category_moved() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_update_search_entries(NEW.tenant_id, ARRAY(
        SELECT k.product_id FROM product_categories k WHERE k.tenant_id = NEW.tenant_id AND k.category_id = NEW.id ORDER BY k.product_id
    ));
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_product_parts_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN SELECT tenant_id, array_agg(DISTINCT product_id) FROM changed GROUP BY tenant_id ORDER BY tenant_id LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

DROP FUNCTION vitrine_update_entry_categories(bigint, bigint[]);
