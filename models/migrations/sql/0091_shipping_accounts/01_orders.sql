-- Whose the shipping of an order is: the vendor that the order's shipping method had when it was chosen, 0 for the store. Null in orders from
-- before, whose shipping is that of the method's vendor at any time.
ALTER TABLE orders ADD COLUMN shipping_account bigint;

CREATE FUNCTION vitrine_set_shipping_account() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    NEW.shipping_account := coalesce(
        (SELECT m.vendor_id FROM shipping_methods m WHERE m.tenant_id = NEW.tenant_id AND m.id = NEW.shipping_method_id), 0
    );
    RETURN NEW;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_set_shipping_account() FROM PUBLIC;
-- A moved order keeps what it has.
CREATE TRIGGER shipping_account_inserted BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.shipping_account IS NULL)
    EXECUTE FUNCTION vitrine_set_shipping_account();
CREATE TRIGGER shipping_account_updated BEFORE UPDATE OF shipping_method_id ON orders FOR EACH ROW
    WHEN (NEW.shipping_method_id IS DISTINCT FROM OLD.shipping_method_id)
    EXECUTE FUNCTION vitrine_set_shipping_account();
