-- The hand-written limit's way to place an order, and PostGraphile's: one function, which writes what Vitrine writes (order, lines,
-- history, reserved stock, the event for the apps) and refuses what is not there.
CREATE FUNCTION place_order(customer uuid, payment uuid, shipping uuid, items jsonb) RETURNS orders
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    buyer users;
    pays payment_methods;
    ships shipping_methods;
    placed orders;
    subtotal bigint;
    -- Arrays, because the planner takes what comes out of jsonb for a hundred rows and would read all products of the store.
    wanted uuid[] := ARRAY(SELECT (i ->> 'product_id')::uuid FROM jsonb_array_elements(items) i);
    units bigint[] := ARRAY(SELECT (i ->> 'quantity')::bigint FROM jsonb_array_elements(items) i);
    reserved_rows int;
BEGIN
    SELECT * INTO STRICT buyer FROM users WHERE tenant_id = store AND public_id = customer AND deleted_at IS NULL;
    SELECT * INTO STRICT pays FROM payment_methods WHERE tenant_id = store AND public_id = payment AND status = 'A';
    SELECT * INTO STRICT ships FROM shipping_methods WHERE tenant_id = store AND public_id = shipping AND status = 'A';
    SELECT sum(p.price_cents * units[array_position(wanted, p.public_id)]) INTO subtotal
    FROM products p WHERE p.tenant_id = store AND p.public_id = ANY(wanted) AND p.status = 'A' AND p.deleted_at IS NULL;
    INSERT INTO orders (tenant_id, public_id, user_id, status, stock_state, subtotal_cents, shipping_cents, surcharge_cents,
        total_cents, payment_method_id, shipping_method_id, email, firstname, lastname, phone)
    VALUES (store, gen_random_uuid(), buyer.id, 'O', 'R', subtotal, ships.base_cents, pays.surcharge_cents,
        subtotal + ships.base_cents + pays.surcharge_cents, pays.id, ships.id, buyer.email, buyer.firstname, buyer.lastname,
        coalesce(buyer.phone, ''))
    RETURNING * INTO placed;
    INSERT INTO order_lines (tenant_id, public_id, order_id, position, product_id, vendor_id, product_name, product_code, quantity,
        price_cents, base_price_cents, weight_grams)
    SELECT store, gen_random_uuid(), placed.id, array_position(wanted, p.public_id), p.id, p.vendor_id, p.name, p.sku,
        units[array_position(wanted, p.public_id)], p.price_cents, p.price_cents, p.weight_grams
    FROM products p WHERE p.tenant_id = store AND p.public_id = ANY(wanted);
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, to_status, actor_kind)
    VALUES (store, gen_random_uuid(), placed.id, 'O', 'admin');
    WITH locked AS (
        SELECT p.id, units[array_position(wanted, p.public_id)] AS count
        FROM products p WHERE p.tenant_id = store AND p.public_id = ANY(wanted)
        ORDER BY p.id FOR NO KEY UPDATE OF p
    )
    UPDATE products p SET reserved = p.reserved + k.count FROM locked k
    WHERE p.tenant_id = store AND p.id = k.id AND p.on_hand >= p.reserved + k.count;
    GET DIAGNOSTICS reserved_rows = ROW_COUNT;
    IF reserved_rows <> cardinality(wanted) THEN
        RAISE EXCEPTION 'out of stock';
    END IF;
    INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
    VALUES (store, gen_random_uuid(), 'order', placed.public_id, 1);
    INSERT INTO outbox_events (tenant_id, public_id, name, subject_type, subject_id, sequence, data)
    SELECT store, gen_random_uuid(), 'order.created', 'order', placed.public_id, 1, jsonb_build_object(
        'id', placed.public_id, 'status', placed.status, 'total_cents', placed.total_cents, 'currency', placed.currency,
        'customer', jsonb_build_object('id', buyer.public_id, 'name', buyer.name, 'email', buyer.email),
        'items', jsonb_agg(jsonb_build_object('name', l.product_name, 'quantity', l.quantity, 'price_cents', l.price_cents)),
        'created_at', placed.created_at)
    FROM order_lines l WHERE l.tenant_id = store AND l.order_id = placed.id;
    RETURN placed;
END
$function$;
