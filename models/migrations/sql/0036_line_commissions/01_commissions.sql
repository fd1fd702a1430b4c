-- The commission of a vendor on an order line, in cents, and the rate that it was calculated with. Null for the store's own products, and for
-- lines written before (or by the version before): these count at the vendor's first rate, which is kept when it changes.
ALTER TABLE order_lines ADD COLUMN commission_cents bigint, ADD COLUMN commission text, ADD COLUMN commission_type text;

-- The rate before the first change since this migration; null while there was none.
ALTER TABLE vendors ADD COLUMN first_commission text, ADD COLUMN first_commission_type text;

CREATE FUNCTION vitrine_keep_first_commission() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    NEW.first_commission := OLD.commission;
    NEW.first_commission_type := OLD.commission_type;
    RETURN NEW;
END
$function$;
-- A trigger, so that the version before and imports keep it too.
CREATE TRIGGER keep_first_commission BEFORE UPDATE OF commission, commission_type ON vendors
    FOR EACH ROW WHEN (
        OLD.first_commission IS NULL
        AND (NEW.commission, NEW.commission_type) IS DISTINCT FROM (OLD.commission, OLD.commission_type)
    )
    EXECUTE FUNCTION vitrine_keep_first_commission();
