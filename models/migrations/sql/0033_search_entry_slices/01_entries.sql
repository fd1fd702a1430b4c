-- A statement of many rows takes time in proportion to them: an INSERT of a million products took hours. There were two causes.
--
-- Rows were looked up by indexes that have `tenant_id` and `id` with something else between them, so that each lookup read the part of the
-- whole store. Without statistics the planner takes `deleted_at IS NULL` for rare, and a partial index for as good as the primary key: the
-- condition is outside of the lookup now (OFFSET 0 keeps it there), so that partial indexes don't qualify. And by the statistics of other
-- stores a new store has at most one row, for which all indexes are alike: plans are generic, that is for a store of average size.
--
-- Many products are handled a thousand at a time: nothing is sorted on disk, and each slice is planned for the tables as they are then.

-- Return the ids in slices of at most a thousand, in their order and each once.
CREATE FUNCTION vitrine_slices(ids bigint[]) RETURNS TABLE (slice bigint[])
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_agg(n.id ORDER BY n.id)
    FROM (SELECT d.id, (row_number() OVER (ORDER BY d.id) - 1) / 1000 AS slice FROM (SELECT DISTINCT unnest(ids) AS id) AS d) AS n
    GROUP BY n.slice
    ORDER BY n.slice;
END;

-- Calculate the entries of these products again. They are locked first, by a statement of its own: what the second one reads is then newer
-- than the last entry, else of two transactions that change one product each would write what it knows. Slices are in the order of the
-- ids, so that all entries are locked in that order. A session keeps the plans it made while the tables were small, by which many products
-- would take forever: before many it forgets them. OFFSET 0 has the rows of a product looked up by the product, whatever the planner knows
-- of their number.
CREATE OR REPLACE FUNCTION vitrine_update_search_entries(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    part bigint[];
BEGIN
    IF cardinality(ids) > 1000 THEN
        FOR part IN SELECT s.slice FROM vitrine_slices(ids) AS s LOOP
            PERFORM vitrine_update_search_entries(store, part);
        END LOOP;
        RETURN;
    END IF;
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
    PERFORM FROM search_entries e WHERE e.tenant_id = store AND e.product_id = ANY(ids) ORDER BY e.product_id FOR NO KEY UPDATE;
    DELETE FROM search_entries e WHERE e.tenant_id = store AND e.product_id = ANY(ids)
        AND (SELECT p.deleted_at IS NOT NULL FROM products p WHERE p.tenant_id = store AND p.id = e.product_id);
    INSERT INTO search_entries AS e (
        tenant_id, product_id, created_at, price_cents, vendor_id, rating, in_stock, status, category_ids, variant_ids, name_words
    )
    SELECT p.tenant_id, p.id, p.created_at, p.price_cents, p.vendor_id,
        coalesce((
            SELECT floor(avg(d.rating) FILTER (WHERE d.status = 'A') * 100)::smallint
            FROM (
                SELECT h.tenant_id, h.id FROM discussion_threads h
                WHERE h.tenant_id = p.tenant_id AND h.object_type = 'P' AND h.object_id = p.id OFFSET 0
            ) AS h JOIN discussion_posts d ON d.tenant_id = h.tenant_id AND d.thread_id = h.id
        ), 0),
        p.tracking = 'D' OR greatest(p.min_quantity, 1) <= coalesce((
            SELECT max(c.stock) FILTER (WHERE c.deleted_at IS NULL) FROM (
                SELECT c.stock, c.deleted_at FROM combinations c WHERE c.tenant_id = p.tenant_id AND c.product_id = p.id OFFSET 0
            ) AS c
        ), p.stock),
        p.status,
        ARRAY(
            SELECT DISTINCT a.id::bigint
            FROM (
                SELECT k.tenant_id, k.category_id FROM product_categories k WHERE k.tenant_id = p.tenant_id AND k.product_id = p.id OFFSET 0
            ) AS k JOIN categories c ON c.tenant_id = k.tenant_id AND c.id = k.category_id, unnest(string_to_array(c.id_path, '/')) AS a (id)
            ORDER BY 1
        ),
        ARRAY(
            SELECT v.variant_id
            FROM (
                SELECT f.* FROM feature_values f WHERE f.tenant_id = p.tenant_id AND f.product_id = p.id OFFSET 0
            ) AS f JOIN features g ON g.tenant_id = f.tenant_id AND g.id = f.feature_id AND g.filterable, LATERAL (
                SELECT f.variant_id WHERE f.variant_id IS NOT NULL
                UNION ALL
                SELECT m.variant_id FROM feature_value_variants m WHERE m.tenant_id = f.tenant_id AND m.feature_value_id = f.id
            ) AS v
            ORDER BY 1
        ),
        array_to_tsvector(vitrine_product_lexemes(p.name || ' ' || vitrine_sku_word(p.sku)))
    FROM (SELECT DISTINCT unnest(ids) AS id) AS i, LATERAL (
        SELECT p.* FROM products p WHERE p.tenant_id = store AND p.id = i.id OFFSET 0
    ) AS p
    WHERE p.deleted_at IS NULL
    ORDER BY p.id
    ON CONFLICT (tenant_id, product_id) DO UPDATE SET (
        created_at, price_cents, vendor_id, rating, in_stock, status, category_ids, variant_ids, name_words
    ) = (
        excluded.created_at, excluded.price_cents, excluded.vendor_id, excluded.rating, excluded.in_stock, excluded.status,
        excluded.category_ids, excluded.variant_ids, excluded.name_words
    )
    WHERE (e.created_at, e.price_cents, e.vendor_id, e.rating, e.in_stock, e.status, e.category_ids, e.variant_ids, e.name_words)
        IS DISTINCT FROM (
            excluded.created_at, excluded.price_cents, excluded.vendor_id, excluded.rating, excluded.in_stock, excluded.status,
            excluded.category_ids, excluded.variant_ids, excluded.name_words
        );
END
$function$;
