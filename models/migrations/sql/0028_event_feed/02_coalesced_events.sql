-- Changes of stock since the last event `stock.changed`, for which a job emits one for each product. Rows are only inserted, without a unique
-- key: the transactions that change stock don't wait for each other here, in no order, and one that is open is not missed.
CREATE TABLE stock_changes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT stock_changes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    product_id bigint NOT NULL,
    CONSTRAINT stock_changes_pkey PRIMARY KEY (tenant_id, id)
);
SELECT vitrine_keep_apart('stock_changes');

CREATE FUNCTION vitrine_note_stock_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    IF TG_TABLE_NAME = 'products' THEN
        INSERT INTO stock_changes (tenant_id, product_id) VALUES (NEW.tenant_id, NEW.id);
    ELSE
        INSERT INTO stock_changes (tenant_id, product_id) VALUES (NEW.tenant_id, NEW.product_id);
    END IF;
    RETURN NULL;
END
$function$;
CREATE TRIGGER stock_changed AFTER UPDATE OF on_hand, reserved ON products
    FOR EACH ROW WHEN (OLD.stock <> NEW.stock) EXECUTE FUNCTION vitrine_note_stock_change();
CREATE TRIGGER stock_changed AFTER UPDATE OF on_hand, reserved ON combinations
    FOR EACH ROW WHEN (OLD.stock <> NEW.stock) EXECUTE FUNCTION vitrine_note_stock_change();

-- When the event `cart.abandoned` was due; null for a cart that was changed since. Carts that are old already cause none.
ALTER TABLE carts ADD COLUMN abandoned_at timestamptz;
UPDATE carts SET abandoned_at = now() WHERE status = 'open' AND updated_at < now() - interval '1 hour';
CREATE INDEX carts_not_abandoned_idx ON carts (updated_at) WHERE status = 'open' AND abandoned_at IS NULL;
