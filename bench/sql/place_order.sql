-- Creates an order for the hand-written limit and PostGraphile: inserts what Vitrine inserts (order, lines, status change, stock reservation,
-- event) and raises an error for missing records.
CREATE FUNCTION place_order(customer uuid, payment uuid, shipping uuid, items jsonb) RETURNS orders
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    customer_row users;
    payment_row payment_methods;
    shipping_row shipping_methods;
    new_order orders;
    subtotal bigint;
    -- Arrays, because the planner estimates 100 rows for a jsonb expansion and would scan all products of the store.
    product_ids uuid[] := ARRAY(SELECT (i ->> 'product_id')::uuid FROM jsonb_array_elements(items) i);
    quantities bigint[] := ARRAY(SELECT (i ->> 'quantity')::bigint FROM jsonb_array_elements(items) i);
    reserved_rows int;
BEGIN
    SELECT * INTO STRICT customer_row FROM users WHERE tenant_id = store AND public_id = customer AND deleted_at IS NULL;
    SELECT * INTO STRICT payment_row FROM payment_methods WHERE tenant_id = store AND public_id = payment AND status = 'A';
    SELECT * INTO STRICT shipping_row FROM shipping_methods WHERE tenant_id = store AND public_id = shipping AND status = 'A';
    SELECT sum(p.price_cents * quantities[array_position(product_ids, p.public_id)]) INTO subtotal
    FROM products p WHERE p.tenant_id = store AND p.public_id = ANY(product_ids) AND p.status = 'A' AND p.deleted_at IS NULL;
    INSERT INTO orders (tenant_id, public_id, user_id, status, stock_state, subtotal_cents, shipping_cents, surcharge_cents,
        total_cents, payment_method_id, shipping_method_id, email, firstname, lastname, phone)
    VALUES (store, gen_random_uuid(), customer_row.id, 'O', 'R', subtotal, shipping_row.base_cents, payment_row.surcharge_cents,
        subtotal + shipping_row.base_cents + payment_row.surcharge_cents, payment_row.id, shipping_row.id,
        customer_row.email, customer_row.firstname, customer_row.lastname, coalesce(customer_row.phone, ''))
    RETURNING * INTO new_order;
    INSERT INTO order_lines (tenant_id, public_id, order_id, position, product_id, vendor_id, product_name, product_code, quantity,
        price_cents, base_price_cents, weight_grams)
    SELECT store, gen_random_uuid(), new_order.id, array_position(product_ids, p.public_id), p.id, p.vendor_id, p.name, p.sku,
        quantities[array_position(product_ids, p.public_id)], p.price_cents, p.price_cents, p.weight_grams
    FROM products p WHERE p.tenant_id = store AND p.public_id = ANY(product_ids);
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, to_status, actor_kind)
    VALUES (store, gen_random_uuid(), new_order.id, 'O', 'admin');
    WITH locked AS (
        SELECT p.id, quantities[array_position(product_ids, p.public_id)] AS count
        FROM products p WHERE p.tenant_id = store AND p.public_id = ANY(product_ids)
        ORDER BY p.id FOR NO KEY UPDATE OF p
    )
    UPDATE products p SET reserved = p.reserved + k.count FROM locked k
    WHERE p.tenant_id = store AND p.id = k.id AND p.on_hand >= p.reserved + k.count;
    GET DIAGNOSTICS reserved_rows = ROW_COUNT;
    IF reserved_rows <> cardinality(product_ids) THEN
        RAISE EXCEPTION 'out of stock';
    END IF;
    INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
    VALUES (store, gen_random_uuid(), 'order', new_order.public_id, 1);
    INSERT INTO outbox_events (tenant_id, public_id, name, subject_type, subject_id, sequence, data)
    SELECT store, gen_random_uuid(), 'order.created', 'order', new_order.public_id, 1, jsonb_build_object(
        'id', new_order.public_id, 'status', new_order.status, 'total_cents', new_order.total_cents, 'currency', new_order.currency,
        'customer', jsonb_build_object('id', customer_row.public_id, 'name', customer_row.name, 'email', customer_row.email),
        'items', jsonb_agg(jsonb_build_object('name', l.product_name, 'quantity', l.quantity, 'price_cents', l.price_cents)),
        'created_at', new_order.created_at)
    FROM order_lines l WHERE l.tenant_id = store AND l.order_id = new_order.id;
    RETURN new_order;
END
$function$;
