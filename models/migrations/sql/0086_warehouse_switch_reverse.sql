-- Undo 0086_warehouse_switch.
DROP FUNCTION vitrine_switch_warehouse_stock(bigint, bigint, integer);
CREATE OR REPLACE FUNCTION vitrine_switch_warehouse_stock() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    direction integer := CASE WHEN NEW.status = 'A' AND NEW.deleted_at IS NULL THEN 1 ELSE -1 END;
BEGIN
    PERFORM FROM products p WHERE p.tenant_id = NEW.tenant_id AND p.id IN (
        SELECT s.product_id FROM warehouse_stock s
        WHERE s.tenant_id = NEW.tenant_id AND s.warehouse_id = NEW.id AND s.combination_id IS NULL
    ) ORDER BY p.id FOR NO KEY UPDATE;
    PERFORM FROM combinations c WHERE c.tenant_id = NEW.tenant_id AND c.id IN (
        SELECT s.combination_id FROM warehouse_stock s WHERE s.tenant_id = NEW.tenant_id AND s.warehouse_id = NEW.id
    ) ORDER BY c.id FOR NO KEY UPDATE;
    IF (OLD.status = 'A' AND OLD.deleted_at IS NULL) <> (direction = 1) THEN
        UPDATE products p SET on_hand = p.on_hand + direction * s.quantity FROM warehouse_stock s
        WHERE s.tenant_id = NEW.tenant_id AND s.warehouse_id = NEW.id AND s.combination_id IS NULL AND s.quantity > 0
            AND p.tenant_id = s.tenant_id AND p.id = s.product_id;
        UPDATE combinations c SET on_hand = c.on_hand + direction * s.quantity FROM warehouse_stock s
        WHERE s.tenant_id = NEW.tenant_id AND s.warehouse_id = NEW.id AND s.quantity > 0
            AND c.tenant_id = s.tenant_id AND c.id = s.combination_id;
    END IF;
    IF NEW.deleted_at IS NOT NULL THEN
        DELETE FROM warehouse_stock WHERE tenant_id = NEW.tenant_id AND warehouse_id = NEW.id;
    END IF;
    RETURN NULL;
END
$function$;
CREATE OR REPLACE FUNCTION vitrine_active_warehouse_stock(store bigint, product bigint, combination bigint)
RETURNS TABLE (id bigint, warehouse_id bigint, quantity bigint) LANGUAGE plpgsql STABLE ROWS 3
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.id, s.warehouse_id, s.quantity
    FROM warehouse_stock s JOIN warehouses w ON w.tenant_id = s.tenant_id AND w.id = s.warehouse_id
    WHERE s.tenant_id = store AND s.product_id = product AND coalesce(s.combination_id, 0) = combination
        AND w.status = 'A' AND w.deleted_at IS NULL
    ORDER BY w.vendor_id IS NULL, w.priority DESC, NOT w.is_default, w.id;
END
$function$;
DROP INDEX warehouse_stock_warehouse_idx;
CREATE INDEX warehouse_stock_warehouse_idx ON warehouse_stock (tenant_id, warehouse_id, id);
ALTER TABLE warehouse_stock DROP COLUMN is_active;
