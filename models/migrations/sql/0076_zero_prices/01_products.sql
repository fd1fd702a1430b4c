-- Stores of the dialect `cscart` sell no product of the price zero from now on, unless its zero_price_action is P: those that they sell stay
-- so. Store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants WHERE settings ->> 'legacy_lists' = 'cscart' ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        UPDATE products SET zero_price_action = 'P' WHERE tenant_id = store AND price_cents = 0 AND zero_price_action = 'R';
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;
