-- Undo 0033_search_entry_slices.

CREATE OR REPLACE FUNCTION vitrine_feature_choices_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT c.tenant_id, array_agg(DISTINCT f.product_id)
        FROM changed c JOIN feature_values f ON f.tenant_id = c.tenant_id AND f.id = c.feature_value_id
        GROUP BY c.tenant_id ORDER BY c.tenant_id
    LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_reviews_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT c.tenant_id, array_agg(DISTINCT h.object_id)
        FROM changed c JOIN discussion_threads h ON h.tenant_id = c.tenant_id AND h.id = c.thread_id
        WHERE h.object_type = 'P'
        GROUP BY c.tenant_id ORDER BY c.tenant_id
    LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_update_entry_categories(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
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

CREATE OR REPLACE FUNCTION vitrine_update_entry_columns(store bigint, product bigint) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off AS $function$
BEGIN
    -- Locked first: the stock of all combinations is read after whatever changed the entry at the same time.
    PERFORM FROM search_entries e WHERE e.tenant_id = store AND e.product_id = product FOR NO KEY UPDATE;
    UPDATE search_entries e
    SET (created_at, price_cents, vendor_id, in_stock, status) = (p.created_at, p.price_cents, p.vendor_id, p.in_stock, p.status)
    FROM (
        SELECT p.created_at, p.price_cents, p.vendor_id, p.status,
            p.tracking = 'D' OR greatest(p.min_quantity, 1) <= coalesce((
                SELECT max(c.stock) FROM (
                    SELECT c.stock FROM combinations c
                    WHERE c.tenant_id = store AND c.product_id = product AND c.deleted_at IS NULL OFFSET 0
                ) AS c
            ), p.stock) AS in_stock
        FROM products p WHERE p.tenant_id = store AND p.id = product OFFSET 0
    ) AS p
    WHERE e.tenant_id = store AND e.product_id = product
        AND (e.created_at, e.price_cents, e.vendor_id, e.in_stock, e.status)
            IS DISTINCT FROM (p.created_at, p.price_cents, p.vendor_id, p.in_stock, p.status);
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_add_search_words(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
    INSERT INTO search_words (tenant_id, word, letters)
    SELECT store, n.word, vitrine_letters(n.word)
    FROM (
        SELECT DISTINCT w.word COLLATE "C" AS word
        FROM unnest(ids) AS i (id), LATERAL (
            SELECT p.search FROM products p WHERE p.tenant_id = store AND p.id = i.id AND p.deleted_at IS NULL OFFSET 0
        ) AS p, unnest(tsvector_to_array(p.search)) AS w (word)
        WHERE length(w.word) > 2 AND translate(w.word, 'abcdefghijklmnopqrstuvwxyz', '') = ''
    ) AS n
    WHERE NOT EXISTS (SELECT FROM search_words s WHERE s.tenant_id = store AND s.word = n.word)
    ORDER BY n.word;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_update_search_entries(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off AS $function$
BEGIN
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
            SELECT max(c.stock) FROM (
                SELECT c.stock FROM combinations c WHERE c.tenant_id = p.tenant_id AND c.product_id = p.id AND c.deleted_at IS NULL OFFSET 0
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
    FROM unnest(ids) AS i (id), LATERAL (
        SELECT p.* FROM products p WHERE p.tenant_id = store AND p.id = i.id AND p.deleted_at IS NULL OFFSET 0
    ) AS p
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

DROP FUNCTION vitrine_slices(bigint[]);
