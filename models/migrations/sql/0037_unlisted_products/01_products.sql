-- The products that shoppers don't find because of their vendor or their categories; their own status is not considered here
-- (domain/catalog/listing.py). There are few, so that a list or a count leaves them out by a lookup or a hash of a small table. Triggers
-- keep it in the transaction of the change, whichever program makes it.
CREATE TABLE unlisted_products (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT unlisted_products_tenant_fkey REFERENCES tenants (id),
    product_id bigint NOT NULL,
    -- Whether it can't be opened and bought either: its vendor is not active, or all its categories are disabled. Else one is hidden.
    is_disabled boolean NOT NULL,
    CONSTRAINT unlisted_products_pkey PRIMARY KEY (tenant_id, product_id),
    CONSTRAINT unlisted_products_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
SELECT vitrine_keep_apart('unlisted_products');

-- Few are restricted: they are read before each decision.
CREATE INDEX vendors_inactive_idx ON vendors (tenant_id, id) WHERE status <> 'A' OR deleted_at IS NOT NULL;
CREATE INDEX categories_restricted_idx ON categories (tenant_id, id) WHERE status <> 'A';

-- Decide again about these products. A category is as restricted as the most restricted one on the way to it, a product as the least
-- restricted of its categories; without any it is not. Entries of the search are locked first, as in 0025: of two transactions that change
-- one product the second one reads what the first one wrote. Slices and lookups are those of 0033.
CREATE FUNCTION vitrine_update_unlisted_products(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    part bigint[];
    inactive bigint[];
    disabled bigint[];
    hidden bigint[];
BEGIN
    IF cardinality(ids) > 1000 THEN
        FOR part IN SELECT s.slice FROM vitrine_slices(ids) AS s LOOP
            PERFORM vitrine_update_unlisted_products(store, part);
        END LOOP;
        RETURN;
    END IF;
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
    PERFORM FROM search_entries e WHERE e.tenant_id = store AND e.product_id = ANY(ids) ORDER BY e.product_id FOR NO KEY UPDATE;
    inactive := ARRAY(SELECT v.id FROM vendors v WHERE v.tenant_id = store AND (v.status <> 'A' OR v.deleted_at IS NOT NULL));
    disabled := ARRAY(SELECT c.id FROM categories c WHERE c.tenant_id = store AND c.status <> 'A' AND c.status = 'D');
    hidden := ARRAY(SELECT c.id FROM categories c WHERE c.tenant_id = store AND c.status <> 'A' AND c.status = 'H');
    DELETE FROM unlisted_products u WHERE u.tenant_id = store AND u.product_id = ANY(ids);
    IF inactive = '{}' AND disabled = '{}' AND hidden = '{}' THEN
        RETURN;
    END IF;
    INSERT INTO unlisted_products (tenant_id, product_id, is_disabled)
    SELECT store, r.id, r.restriction = 2
    FROM (
        SELECT p.id, CASE
            WHEN p.vendor_id = ANY(inactive) THEN 2
            WHEN disabled = '{}' AND hidden = '{}' THEN 0
            ELSE (
                SELECT min(CASE WHEN c.path && disabled THEN 2 WHEN c.path && hidden THEN 1 ELSE 0 END)
                FROM (
                    SELECT k.category_id FROM product_categories k WHERE k.tenant_id = store AND k.product_id = p.id OFFSET 0
                ) AS k, LATERAL (
                    SELECT string_to_array(c.id_path, '/')::bigint[] AS path
                    FROM categories c WHERE c.tenant_id = store AND c.id = k.category_id OFFSET 0
                ) AS c
            )
        END AS restriction
        FROM (SELECT DISTINCT unnest(ids) AS id) AS i, LATERAL (
            SELECT p.id, p.vendor_id FROM products p WHERE p.tenant_id = store AND p.id = i.id OFFSET 0
        ) AS p
    ) AS r
    WHERE r.restriction > 0;
END
$function$;
