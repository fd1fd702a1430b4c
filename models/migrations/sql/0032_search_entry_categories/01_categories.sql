-- A placement in a category, and a move of the category, change only the categories of search entries. Making the entries anew, with the
-- words of their products, took two thirds of the time of the placements of an import.

-- Planned for the products of each call: neither a plan for one product nor one made while the tables were small fits many.
CREATE FUNCTION vitrine_update_entry_categories(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $function$
BEGIN
    -- Locked first: the placements are read after whatever changed the entries at the same time.
    PERFORM FROM search_entries e WHERE e.tenant_id = store AND e.product_id = ANY(ids) ORDER BY e.product_id FOR NO KEY UPDATE;
    UPDATE search_entries e SET category_ids = p.category_ids
    FROM unnest(ids) AS i (id), LATERAL (
        SELECT ARRAY(
            SELECT DISTINCT a.id::bigint
            FROM (
                SELECT k.tenant_id, k.category_id FROM product_categories k WHERE k.tenant_id = store AND k.product_id = i.id OFFSET 0
            ) AS k JOIN categories c ON c.tenant_id = k.tenant_id AND c.id = k.category_id, unnest(string_to_array(c.id_path, '/')) AS a (id)
            ORDER BY 1
        ) AS category_ids OFFSET 0
    ) AS p
    WHERE e.tenant_id = store AND e.product_id = i.id AND e.category_ids <> p.category_ids;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_product_parts_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN SELECT tenant_id, array_agg(DISTINCT product_id) FROM changed GROUP BY tenant_id ORDER BY tenant_id LOOP
        IF TG_TABLE_NAME = 'product_categories' THEN
            PERFORM vitrine_update_entry_categories(store, ids);
        ELSE
            PERFORM vitrine_update_search_entries(store, ids);
        END IF;
    END LOOP;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_category_moved() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_update_entry_categories(NEW.tenant_id, ARRAY(
        SELECT k.product_id FROM product_categories k WHERE k.tenant_id = NEW.tenant_id AND k.category_id = NEW.id ORDER BY k.product_id
    ));
    RETURN NULL;
END
$function$;
