-- A change of a product's price, vendor, status, date or stock writes those columns of its search entry. All of an entry, with its words,
-- categories and features, takes 2 ms to calculate; it is calculated again only when the texts change, or the product is restored.

CREATE FUNCTION vitrine_update_entry_columns(store bigint, product bigint) RETURNS void LANGUAGE plpgsql
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

CREATE OR REPLACE FUNCTION vitrine_product_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    IF (OLD.name, OLD.sku, OLD.deleted_at) IS DISTINCT FROM (NEW.name, NEW.sku, NEW.deleted_at) THEN
        PERFORM vitrine_update_search_entries(NEW.tenant_id, ARRAY[NEW.id]);
    ELSE
        PERFORM vitrine_update_entry_columns(NEW.tenant_id, NEW.id);
    END IF;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_combination_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    needed bigint;
BEGIN
    SELECT greatest(p.min_quantity, 1) INTO needed FROM products p WHERE p.tenant_id = NEW.tenant_id AND p.id = NEW.product_id;
    IF TG_OP = 'INSERT' OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at OR (OLD.stock >= needed) <> (NEW.stock >= needed) THEN
        PERFORM vitrine_update_entry_columns(NEW.tenant_id, NEW.product_id);
    END IF;
    RETURN NULL;
END
$function$;
