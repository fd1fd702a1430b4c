-- A warehouse of which a job has to switch more rows says so (0086): the job looked at every warehouse of every store every ten seconds, which
-- took half a second with 10,000 stores.
ALTER TABLE warehouses ADD COLUMN is_switching boolean NOT NULL DEFAULT false;
CREATE INDEX warehouses_switching_idx ON warehouses (tenant_id, id) WHERE is_switching;

-- As in 0087; besides, it keeps the new column, so that the lock is the one of an update.
CREATE OR REPLACE FUNCTION vitrine_switch_warehouse_stock(store bigint, warehouse bigint, most integer) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
    becomes_active boolean;
    is_deleted boolean;
    direction integer;
    part bigint[];
BEGIN
    SELECT w.status = 'A' AND w.deleted_at IS NULL, w.deleted_at IS NOT NULL INTO becomes_active, is_deleted
    FROM warehouses w WHERE w.tenant_id = store AND w.id = warehouse FOR NO KEY UPDATE;
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
    UPDATE warehouse_stock s SET quantity = CASE WHEN s.combination_id IS NULL
        THEN (SELECT p.stock FROM products p WHERE p.tenant_id = store AND p.id = s.product_id)
        ELSE (SELECT c.stock FROM combinations c WHERE c.tenant_id = store AND c.id = s.combination_id) END
    WHERE becomes_active AND s.tenant_id = store AND s.id = ANY(part) AND s.quantity = 0 AND NOT EXISTS (
        SELECT FROM vitrine_active_warehouse_stock(store, s.product_id, coalesce(s.combination_id, 0)) AS o WHERE o.id <> s.id
    );
    IF is_deleted THEN
        DELETE FROM warehouse_stock s WHERE s.tenant_id = store AND s.id = ANY(part);
    END IF;
    UPDATE warehouses w SET is_switching = NOT w.is_switching
    WHERE w.tenant_id = store AND w.id = warehouse AND w.is_switching <> (cardinality(part) = most);
    RETURN cardinality(part);
END
$function$;
