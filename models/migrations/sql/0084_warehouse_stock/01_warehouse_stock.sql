-- The units of a product, or of a combination, that each warehouse can still sell. Where there are rows, `stock` is the sum of those of
-- active warehouses: triggers keep both in line, whichever of them a statement writes.
CREATE TABLE warehouse_stock (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT warehouse_stock_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL DEFAULT vitrine_uuid7(),
    warehouse_id bigint NOT NULL,
    product_id bigint NOT NULL,
    combination_id bigint,
    quantity bigint NOT NULL CONSTRAINT warehouse_stock_not_oversold CHECK (quantity >= 0),
    CONSTRAINT warehouse_stock_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT warehouse_stock_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT warehouse_stock_warehouse_fkey FOREIGN KEY (tenant_id, warehouse_id)
        REFERENCES warehouses (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT warehouse_stock_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT warehouse_stock_combination_fkey FOREIGN KEY (tenant_id, combination_id)
        REFERENCES combinations (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX warehouse_stock_key ON warehouse_stock (tenant_id, product_id, coalesce(combination_id, 0), warehouse_id);
CREATE INDEX warehouse_stock_combination_idx ON warehouse_stock (tenant_id, combination_id) WHERE combination_id IS NOT NULL;
CREATE INDEX warehouse_stock_warehouse_idx ON warehouse_stock (tenant_id, warehouse_id, id);
SELECT vitrine_keep_apart('warehouse_stock');

-- The rows of a product (combination 0) or a combination in active warehouses, in the order in which their units are taken.
CREATE FUNCTION vitrine_active_warehouse_stock(store bigint, product bigint, combination bigint)
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

-- What a statement has added to `stock` goes to the first warehouse; what it has taken is taken from the first one that has some.
-- Rows of the product are changed by transactions only that have locked its row.
CREATE FUNCTION vitrine_spread_stock() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    product bigint := NEW.id;
    combination bigint := 0;
    missing bigint;
    change bigint;
    item record;
BEGIN
    IF TG_TABLE_NAME = 'combinations' THEN
        product := NEW.product_id;
        combination := NEW.id;
    END IF;
    SELECT NEW.stock - sum(s.quantity) INTO missing FROM vitrine_active_warehouse_stock(NEW.tenant_id, product, combination) AS s;
    IF coalesce(missing, 0) = 0 THEN
        RETURN NULL;
    END IF;
    FOR item IN SELECT s.id, s.quantity FROM vitrine_active_warehouse_stock(NEW.tenant_id, product, combination) AS s LOOP
        change := greatest(missing, -item.quantity);
        UPDATE warehouse_stock SET quantity = quantity + change WHERE tenant_id = NEW.tenant_id AND id = item.id AND change <> 0;
        missing := missing - change;
        EXIT WHEN missing = 0;
    END LOOP;
    RETURN NULL;
END
$function$;
CREATE TRIGGER spread_stock AFTER UPDATE OF on_hand, reserved ON products
    FOR EACH ROW WHEN (OLD.stock <> NEW.stock) EXECUTE FUNCTION vitrine_spread_stock();
CREATE TRIGGER spread_stock AFTER UPDATE OF on_hand, reserved ON combinations
    FOR EACH ROW WHEN (OLD.stock <> NEW.stock) EXECUTE FUNCTION vitrine_spread_stock();

-- The units of a warehouse are sold while it is active; those of a deleted one are gone. The products are locked, then their combinations,
-- in the order of orders, before a statement that sees what others have changed meanwhile.
CREATE FUNCTION vitrine_switch_warehouse_stock() RETURNS trigger LANGUAGE plpgsql AS $function$
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
CREATE TRIGGER switch_stock AFTER UPDATE OF status, deleted_at ON warehouses FOR EACH ROW
    WHEN (OLD.status <> NEW.status OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION vitrine_switch_warehouse_stock();
