-- Rows that lead to the product by another row, which is looked up for each (01_entries.sql): the planner took all threads of a store, or
-- all values of its features, for one row and compared each changed row with each of them.

CREATE OR REPLACE FUNCTION vitrine_feature_choices_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT c.tenant_id, array_agg(DISTINCT f.product_id)
        FROM changed c, LATERAL (
            SELECT f.product_id FROM feature_values f WHERE f.tenant_id = c.tenant_id AND f.id = c.feature_value_id OFFSET 0
        ) AS f
        GROUP BY c.tenant_id ORDER BY c.tenant_id
    LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_reviews_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT c.tenant_id, array_agg(DISTINCT h.object_id)
        FROM changed c, LATERAL (
            SELECT h.object_type, h.object_id FROM discussion_threads h WHERE h.tenant_id = c.tenant_id AND h.id = c.thread_id OFFSET 0
        ) AS h
        WHERE h.object_type = 'P'
        GROUP BY c.tenant_id ORDER BY c.tenant_id
    LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;
