-- Which rows are counted in the stock is a column of theirs: a warehouse that is switched off or on takes 1 ms for each of its products, so
-- that a statement switches 500 of them, and a job the others (domain/catalog/warehouse_stock.py). Each product adds up meanwhile.
ALTER TABLE warehouse_stock ADD COLUMN is_active boolean NOT NULL DEFAULT true;
DROP INDEX warehouse_stock_warehouse_idx;
CREATE INDEX warehouse_stock_warehouse_idx ON warehouse_stock (tenant_id, warehouse_id, is_active, product_id, id);

CREATE OR REPLACE FUNCTION vitrine_active_warehouse_stock(store bigint, product bigint, combination bigint)
RETURNS TABLE (id bigint, warehouse_id bigint, quantity bigint) LANGUAGE plpgsql STABLE ROWS 3
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.id, s.warehouse_id, s.quantity
    FROM warehouse_stock s JOIN warehouses w ON w.tenant_id = s.tenant_id AND w.id = s.warehouse_id
    WHERE s.tenant_id = store AND s.product_id = product AND coalesce(s.combination_id, 0) = combination AND s.is_active
    ORDER BY w.vendor_id IS NULL, w.priority DESC, NOT w.is_default, w.id;
END
$function$;

-- Count rows of a warehouse in the stock of their products, or not any more, as its status says; those of a deleted one are removed. Returns
-- how many rows it was. The warehouse is locked against another switch, then products and combinations in the order of orders, before a
-- statement that sees what others have changed meanwhile.
CREATE FUNCTION vitrine_switch_warehouse_stock(store bigint, warehouse bigint, most integer) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
    becomes_active boolean;
    is_deleted boolean;
    direction integer;
    part bigint[];
BEGIN
    SELECT w.status = 'A' AND w.deleted_at IS NULL, w.deleted_at IS NOT NULL INTO becomes_active, is_deleted
    FROM warehouses w WHERE w.tenant_id = store AND w.id = warehouse FOR SHARE;
    direction := CASE WHEN becomes_active THEN 1 ELSE -1 END;
    part := ARRAY(
        SELECT s.id FROM warehouse_stock s
        WHERE s.tenant_id = store AND s.warehouse_id = warehouse AND (s.is_active = NOT becomes_active OR is_deleted)
        ORDER BY s.is_active, s.product_id, s.id LIMIT most
    );
    PERFORM FROM products p WHERE p.tenant_id = store AND p.id IN (
        SELECT s.product_id FROM warehouse_stock s WHERE s.tenant_id = store AND s.id = ANY(part) AND s.combination_id IS NULL
    ) ORDER BY p.id FOR NO KEY UPDATE;
    PERFORM FROM combinations c WHERE c.tenant_id = store AND c.id IN (
        SELECT s.combination_id FROM warehouse_stock s WHERE s.tenant_id = store AND s.id = ANY(part)
    ) ORDER BY c.id FOR NO KEY UPDATE;
    WITH switched AS (
        UPDATE warehouse_stock s SET is_active = becomes_active
        WHERE s.tenant_id = store AND s.id = ANY(part) AND s.is_active <> becomes_active
        RETURNING s.product_id, s.combination_id, s.quantity
    ), counted AS (
        UPDATE products p SET on_hand = greatest(p.reserved, p.on_hand + direction * s.quantity) FROM switched s
        WHERE s.combination_id IS NULL AND s.quantity > 0 AND p.tenant_id = store AND p.id = s.product_id
    )
    UPDATE combinations c SET on_hand = greatest(c.reserved, c.on_hand + direction * s.quantity) FROM switched s
    WHERE s.quantity > 0 AND c.tenant_id = store AND c.id = s.combination_id;
    IF is_deleted THEN
        DELETE FROM warehouse_stock s WHERE s.tenant_id = store AND s.id = ANY(part);
    END IF;
    RETURN cardinality(part);
END
$function$;

CREATE OR REPLACE FUNCTION vitrine_switch_warehouse_stock() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_switch_warehouse_stock(NEW.tenant_id, NEW.id, 500);
    RETURN NULL;
END
$function$;
