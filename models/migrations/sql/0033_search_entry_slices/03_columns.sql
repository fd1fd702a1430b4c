-- The changes of columns of entries (0031, 0032), in slices and by lookups as in 01_entries.sql.

CREATE OR REPLACE FUNCTION vitrine_update_entry_columns(store bigint, product bigint) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
    -- Locked first: the stock of all combinations is read after whatever changed the entry at the same time.
    PERFORM FROM search_entries e WHERE e.tenant_id = store AND e.product_id = product FOR NO KEY UPDATE;
    UPDATE search_entries e
    SET (created_at, price_cents, vendor_id, in_stock, status) = (p.created_at, p.price_cents, p.vendor_id, p.in_stock, p.status)
    FROM (
        SELECT p.created_at, p.price_cents, p.vendor_id, p.status,
            p.tracking = 'D' OR greatest(p.min_quantity, 1) <= coalesce((
                SELECT max(c.stock) FILTER (WHERE c.deleted_at IS NULL) FROM (
                    SELECT c.stock, c.deleted_at FROM combinations c WHERE c.tenant_id = store AND c.product_id = product OFFSET 0
                ) AS c
            ), p.stock) AS in_stock
        FROM products p WHERE p.tenant_id = store AND p.id = product OFFSET 0
    ) AS p
    WHERE e.tenant_id = store AND e.product_id = product
        AND (e.created_at, e.price_cents, e.vendor_id, e.in_stock, e.status)
            IS DISTINCT FROM (p.created_at, p.price_cents, p.vendor_id, p.in_stock, p.status);
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_update_entry_categories(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    part bigint[];
BEGIN
    IF cardinality(ids) > 1000 THEN
        FOR part IN SELECT s.slice FROM vitrine_slices(ids) AS s LOOP
            PERFORM vitrine_update_entry_categories(store, part);
        END LOOP;
        RETURN;
    END IF;
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
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
