-- The orders that exist, store by store: the owner sees the rows of one at a time. Before the triggers, which lock the table of orders, and
-- all of them, because any may be paid until then; those that are placed until then are added below.
DO $do$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        INSERT INTO ledger_queue (tenant_id, order_id) SELECT o.tenant_id, o.id FROM orders o WHERE o.tenant_id = store;
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$do$;

-- Only now, and not validated: it would lock each of these orders. They exist, since orders are deleted with their store alone.
ALTER TABLE ledger_queue ADD CONSTRAINT ledger_queue_order_fkey
    FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE CASCADE NOT VALID;
CREATE FUNCTION vitrine_queue_for_ledger() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    INSERT INTO ledger_queue (tenant_id, order_id) VALUES (NEW.tenant_id, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_queue_for_ledger() FROM PUBLIC;
CREATE TRIGGER ledger_inserted AFTER INSERT ON orders FOR EACH ROW
    WHEN (NEW.paid_cents > 0 OR NEW.refunded_cents > 0 OR NEW.status IN ('P', 'C'))
    EXECUTE FUNCTION vitrine_queue_for_ledger();
-- Whatever the entries of an order depend on; of statuses only what they are to the ledger: sold, closed, or neither.
CREATE TRIGGER ledger_updated AFTER UPDATE ON orders FOR EACH ROW
    WHEN (
        (OLD.paid_cents > 0 OR NEW.paid_cents > 0 OR OLD.refunded_cents > 0 OR NEW.refunded_cents > 0
            OR OLD.status IN ('P', 'C') OR NEW.status IN ('P', 'C'))
        AND (OLD.paid_cents, OLD.refunded_cents, OLD.total_cents, OLD.subtotal_cents, OLD.discount_cents, OLD.shipping_cents,
            OLD.surcharge_cents, OLD.tax_cents, OLD.payment_status = 'chargeback', OLD.shipping_method_id, OLD.vendor_id,
            OLD.deleted_at IS NULL, OLD.status IN ('P', 'C'), OLD.status IN ('D', 'F', 'I'))
        IS DISTINCT FROM (NEW.paid_cents, NEW.refunded_cents, NEW.total_cents, NEW.subtotal_cents, NEW.discount_cents, NEW.shipping_cents,
            NEW.surcharge_cents, NEW.tax_cents, NEW.payment_status = 'chargeback', NEW.shipping_method_id, NEW.vendor_id,
            NEW.deleted_at IS NULL, NEW.status IN ('P', 'C'), NEW.status IN ('D', 'F', 'I'))
    )
    EXECUTE FUNCTION vitrine_queue_for_ledger();

-- Orders that were placed between the two: few.
DO $do$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        INSERT INTO ledger_queue (tenant_id, order_id)
        SELECT o.tenant_id, o.id FROM orders o
        WHERE o.tenant_id = store AND o.id > coalesce((SELECT max(q.order_id) FROM ledger_queue q WHERE q.tenant_id = store), 0);
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$do$;
