-- What a search compares and counts of each product that is not deleted, in rows as short as possible: a search for a common word reads
-- all of a store's. Triggers keep it in the transaction of the change, whichever program makes it.
CREATE TABLE search_entries (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT search_entries_tenant_fkey REFERENCES tenants (id),
    product_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    price_cents bigint NOT NULL,
    vendor_id bigint,
    -- The mean of the published ratings in hundredths, rounded down; 0 without ratings.
    rating smallint NOT NULL,
    -- Whether the minimum quantity is in stock (or untracked) as domain.catalog.availability says; of status and vendor it knows nothing.
    in_stock boolean NOT NULL,
    status text NOT NULL,
    -- Its categories and all categories above them.
    category_ids bigint[] NOT NULL,
    -- Its variants of filterable features.
    variant_ids bigint[] NOT NULL,
    -- Words and stems of name and SKU.
    name_words tsvector NOT NULL,
    CONSTRAINT search_entries_pkey PRIMARY KEY (tenant_id, product_id),
    CONSTRAINT search_entries_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
SELECT vitrine_keep_apart('search_entries');

-- Make the entries of these products anew. They are locked first, by a statement of its own: what the second one reads is then newer
-- than the last entry, else of two transactions that change one product each would write what it knows. A session keeps the plans it
-- made while the tables were small, by which many products would take forever: before many it forgets them. OFFSET 0 has the rows of a
-- product found by the product, whatever the planner knows of their number.
CREATE FUNCTION vitrine_update_search_entries(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
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
