-- The writes of the hand-written limit and, for `place_order`, of PostGraphile. Each function has the effects of Vitrine's mutation: rows
-- changed, audit entry, notifications, event with its sequence number, NOTIFY where an endpoint exists; and raises an error for missing
-- records.

-- Writes an audit entry, and a notification for the customer and the staff unless there is no title.
CREATE FUNCTION bench_record(store bigint, action text, type text, subject uuid, customer bigint, title text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    owner bigint := (SELECT owner_id FROM tenants WHERE id = store);
BEGIN
    INSERT INTO audit_entries (tenant_id, public_id, actor_kind, user_id, action, subject_type, subject_id, ip_address, request_id)
    VALUES (store, gen_random_uuid(), 'admin', owner, action, type, subject::text, '127.0.0.1', gen_random_uuid()::text);
    IF title IS NOT NULL THEN
        INSERT INTO notifications (tenant_id, public_id, user_id, type, title, message)
        SELECT store, gen_random_uuid(), u.id, type, title, title
        FROM unnest(CASE customer WHEN owner THEN ARRAY[owner] ELSE ARRAY[customer, owner] END) AS r (id)
        JOIN users u ON u.tenant_id = store AND u.id = r.id WHERE u.status = 'A' AND u.deleted_at IS NULL;
    END IF;
END
$function$;

CREATE FUNCTION bench_emit(store bigint, event text, type text, subject uuid, data jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    number bigint;
BEGIN
    INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
    VALUES (store, gen_random_uuid(), type, subject, 1)
    ON CONFLICT (tenant_id, subject_type, subject_id) DO UPDATE SET latest = event_sequences.latest + 1
    RETURNING latest INTO number;
    INSERT INTO outbox_events (tenant_id, public_id, name, subject_type, subject_id, sequence, data)
    VALUES (store, gen_random_uuid(), event, type, subject, number, data);
    PERFORM pg_notify('vitrine_events', '') FROM event_endpoints
    WHERE tenant_id = store AND status = 'A' AND deleted_at IS NULL LIMIT 1;
END
$function$;

CREATE FUNCTION bench_order_data(store bigint, o orders) RETURNS jsonb LANGUAGE sql STABLE AS $function$
    SELECT jsonb_build_object(
        'id', o.public_id, 'status', o.status, 'total_cents', o.total_cents, 'currency', o.currency,
        'customer', (SELECT jsonb_build_object('id', u.public_id, 'name', btrim(o.firstname || ' ' || o.lastname), 'email', o.email)
            FROM users u WHERE u.tenant_id = store AND u.id = o.user_id),
        'items', jsonb_agg(jsonb_build_object('product_id', p.public_id, 'name', l.product_name, 'quantity', l.quantity,
            'price_cents', l.price_cents) ORDER BY l.position),
        'created_at', o.created_at, 'previous_status', NULL, 'tracking_code', o.tracking_code)
    FROM order_lines l JOIN products p ON p.tenant_id = store AND p.id = l.product_id
    WHERE l.tenant_id = store AND l.order_id = o.id
$function$;

CREATE FUNCTION place_order(customer uuid, payment uuid, shipping uuid, items jsonb, address jsonb DEFAULT NULL) RETURNS orders
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
    IF address IS NOT NULL THEN
        INSERT INTO order_addresses (tenant_id, public_id, order_id, kind, firstname, lastname, street, number, district, city, state,
            country, zipcode, phone)
        VALUES (store, gen_random_uuid(), new_order.id, 'S', address ->> 'name', '', address ->> 'street', address ->> 'number',
            address ->> 'district', address ->> 'city', address ->> 'state', address ->> 'country', address ->> 'zipcode',
            address ->> 'phone');
    END IF;
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, to_status, actor_kind)
    VALUES (store, gen_random_uuid(), new_order.id, 'O', 'admin');
    PERFORM bench_record(store, 'order.created', 'order', new_order.public_id, customer_row.id, 'Novo pedido nº ' || new_order.id);
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
    PERFORM bench_emit(store, 'order.created', 'order', new_order.public_id, bench_order_data(store, new_order));
    RETURN new_order;
END
$function$;

CREATE FUNCTION check_out(cart uuid, customer uuid, payment uuid) RETURNS orders
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    cart_row carts;
    new_order orders;
BEGIN
    SELECT * INTO STRICT cart_row FROM carts WHERE tenant_id = store AND public_id = cart AND status = 'open' FOR NO KEY UPDATE;
    SELECT o.* INTO new_order FROM place_order(
        customer, payment, (SELECT public_id FROM shipping_methods WHERE tenant_id = store AND id = cart_row.shipping_method_id),
        (SELECT jsonb_agg(jsonb_build_object('product_id', p.public_id, 'quantity', i.quantity) ORDER BY i.id)
            FROM cart_items i JOIN products p ON p.tenant_id = store AND p.id = i.product_id
            WHERE i.tenant_id = store AND i.cart_id = cart_row.id),
        cart_row.address) o;
    UPDATE cart_items i SET product_name = p.name, price_cents = p.price_cents FROM products p
    WHERE i.tenant_id = store AND i.cart_id = cart_row.id AND p.tenant_id = store AND p.id = i.product_id
        AND (i.product_name, i.price_cents) IS DISTINCT FROM (p.name, p.price_cents);
    UPDATE carts SET status = 'ordered', ordered_at = now(), updated_at = now(), order_id = new_order.id,
        content_hash = sha256(new_order.public_id::text::bytea), subtotal_cents = new_order.subtotal_cents,
        shipping_cents = new_order.shipping_cents, total_cents = new_order.total_cents
    WHERE tenant_id = store AND id = cart_row.id;
    PERFORM bench_emit(store, 'checkout.completed', 'cart', cart, bench_order_data(store, new_order));
    RETURN new_order;
END
$function$;

-- A payment is inserted before the gateway is called; `answer_payment` writes what that answers.
CREATE FUNCTION create_payment(order_ uuid) RETURNS payments
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    old orders;
    new_payment payments;
BEGIN
    SELECT * INTO STRICT old FROM orders WHERE tenant_id = store AND public_id = order_ AND deleted_at IS NULL FOR NO KEY UPDATE;
    IF old.status <> 'O' OR old.paid_cents - old.refunded_cents >= old.total_cents THEN
        RAISE EXCEPTION 'not payable';
    END IF;
    UPDATE payments SET status = 'CANCELLED' WHERE tenant_id = store AND order_id = old.id AND status IN ('PENDING', 'AUTHORIZED');
    INSERT INTO payments (tenant_id, public_id, order_id, sequence, kind, installments, amount_cents, status, currency, gateway,
        payment_method_id, expires_at, attempted_at, due_at)
    SELECT store, gen_random_uuid(), old.id, coalesce(max(sequence), 0) + 1, 'PIX', 1, old.total_cents - old.paid_cents + old.refunded_cents,
        'PENDING', old.currency, 'sandbox', old.payment_method_id, now() + interval '30 minutes', now(), now() + interval '30 seconds'
    FROM payments WHERE tenant_id = store AND order_id = old.id RETURNING * INTO new_payment;
    PERFORM bench_record(store, 'order.payment_created', 'order', order_, old.user_id, NULL);
    PERFORM bench_emit(store, 'payment.created', 'payment', new_payment.public_id, jsonb_build_object(
        'id', new_payment.public_id, 'order_id', order_, 'kind', 'PIX', 'status', 'PENDING', 'amount_cents', new_payment.amount_cents,
        'currency', old.currency, 'created_at', new_payment.created_at));
    RETURN new_payment;
END
$function$;

CREATE FUNCTION answer_payment(payment uuid, charge text, code text, picture text) RETURNS payments
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    answered payments;
BEGIN
    PERFORM FROM orders o WHERE o.tenant_id = store
        AND o.id = (SELECT p.order_id FROM payments p WHERE p.tenant_id = store AND p.public_id = payment) FOR NO KEY UPDATE;
    UPDATE payments SET gateway_charge_id = charge, attempts = attempts + 1, due_at = now() + interval '1 minute',
        pix = jsonb_build_object('code', code, 'qr_svg', picture, 'qr_png_url', '')
    WHERE tenant_id = store AND public_id = payment AND status = 'PENDING' RETURNING * INTO STRICT answered;
    INSERT INTO order_mails (tenant_id, order_id, kind, details)
    SELECT store, o.id, 'order_payment_pending', jsonb_build_object('amount_cents', answered.amount_cents, 'code', code,
        'how', 'Copie o código Pix e pague no aplicativo do seu banco:')
    FROM orders o WHERE o.tenant_id = store AND o.id = answered.order_id AND o.email <> '';
    RETURN answered;
END
$function$;

CREATE FUNCTION set_status(order_ uuid, new_status text) RETURNS orders
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    old orders;
    new_order orders;
    change int := CASE new_status WHEN 'B' THEN 1 ELSE -1 END;  -- P to B: deducted units become reserved ones; B to P: the reverse
BEGIN
    SELECT * INTO STRICT old FROM orders WHERE tenant_id = store AND public_id = order_ AND deleted_at IS NULL FOR NO KEY UPDATE;
    IF (old.status, new_status) NOT IN (('P', 'B'), ('B', 'P')) THEN
        RAISE EXCEPTION 'not allowed: % to %', old.status, new_status;
    END IF;
    UPDATE orders SET status = new_status, stock_state = CASE new_status WHEN 'B' THEN 'R' ELSE 'D' END, updated_at = now()
    WHERE tenant_id = store AND id = old.id RETURNING * INTO new_order;
    INSERT INTO order_status_changes (tenant_id, public_id, order_id, from_status, to_status, actor_kind)
    VALUES (store, gen_random_uuid(), old.id, old.status, new_status, 'admin');
    PERFORM FROM products p JOIN order_lines l ON l.tenant_id = store AND l.order_id = old.id AND l.product_id = p.id
    WHERE p.tenant_id = store ORDER BY p.id FOR NO KEY UPDATE OF p;
    UPDATE products p SET on_hand = p.on_hand + change * l.units, reserved = p.reserved + change * l.units
    FROM (SELECT product_id, sum(quantity)::bigint AS units FROM order_lines
        WHERE tenant_id = store AND order_id = old.id AND tracked GROUP BY product_id) l
    WHERE p.tenant_id = store AND p.id = l.product_id;
    PERFORM bench_record(store, 'order.status_changed', 'order', order_, old.user_id, 'Pedido nº ' || old.id);
    PERFORM bench_emit(store, 'order.updated', 'order', order_, bench_order_data(store, new_order));
    RETURN new_order;
END
$function$;

CREATE FUNCTION bench_product_data(store bigint, products_ bigint[]) RETURNS TABLE (public_id uuid, data jsonb)
LANGUAGE sql STABLE AS $function$
    SELECT p.public_id, jsonb_build_object('id', p.public_id, 'name', p.name, 'sku', p.sku, 'slug', p.slug, 'description', p.description,
        'price_cents', p.price_cents, 'stock', p.stock, 'status', p.status, 'vendor_id', p.vendor_id,
        'category', (SELECT jsonb_build_object('id', c.public_id, 'name', c.name) FROM categories c
            WHERE c.tenant_id = store AND c.id = p.category_id),
        'images', (SELECT jsonb_agg(jsonb_build_object('url', i.url, 'alt', i.alt) ORDER BY i.position, i.id) FROM product_images i
            WHERE i.tenant_id = store AND i.product_id = p.id), 'created_at', p.created_at, 'updated_at', p.updated_at)
    FROM products p WHERE p.tenant_id = store AND p.id = ANY(products_)
$function$;

CREATE FUNCTION set_stock(product uuid, available bigint) RETURNS products
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    changed products;
BEGIN
    UPDATE products SET on_hand = reserved + available, updated_at = now()
    WHERE tenant_id = store AND public_id = product AND deleted_at IS NULL RETURNING * INTO STRICT changed;
    PERFORM bench_record(store, 'product.updated', 'product', product, NULL, NULL);
    PERFORM bench_emit(store, 'product.updated', 'product', product, d.data) FROM bench_product_data(store, ARRAY[changed.id]) d;
    RETURN changed;
END
$function$;

-- Updates products by SKU; the rows have `sku`, `vendor_id`, `name`, `price_cents` and `stock`. Set-based throughout.
CREATE FUNCTION upsert_products(rows_ jsonb) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    store bigint := current_setting('vitrine.tenant')::bigint;
    ids bigint[];
BEGIN
    ids := ARRAY(
        SELECT p.id FROM jsonb_to_recordset(rows_) AS r (id uuid) JOIN products p ON p.tenant_id = store AND p.public_id = r.id
        WHERE p.deleted_at IS NULL ORDER BY p.id FOR NO KEY UPDATE OF p);
    UPDATE products p SET name = r.name, price_cents = r.price_cents, on_hand = p.reserved + r.stock, updated_at = now()
    FROM jsonb_to_recordset(rows_) AS r (id uuid, name text, price_cents bigint, stock bigint)
    WHERE p.tenant_id = store AND p.public_id = r.id AND p.id = ANY(ids);
    IF cardinality(ids) <> jsonb_array_length(rows_) THEN
        RAISE EXCEPTION 'missing products';
    END IF;
    INSERT INTO audit_entries (tenant_id, public_id, actor_kind, user_id, action, subject_type, subject_id, details, ip_address)
    SELECT store, gen_random_uuid(), 'admin', t.owner_id, 'product.updated', 'product', p.public_id::text,
        '{"fields": ["name", "price_cents", "stock"]}', '127.0.0.1'
    FROM tenants t, products p WHERE t.id = store AND p.tenant_id = store AND p.id = ANY(ids);
    WITH data AS (
        SELECT * FROM bench_product_data(store, ids)
    ), numbers AS (
        INSERT INTO event_sequences (tenant_id, public_id, subject_type, subject_id, latest)
        SELECT store, gen_random_uuid(), 'product', d.public_id, 1 FROM data d ORDER BY d.public_id
        ON CONFLICT (tenant_id, subject_type, subject_id) DO UPDATE SET latest = event_sequences.latest + 1
        RETURNING subject_id, latest
    )
    INSERT INTO outbox_events (tenant_id, public_id, name, subject_type, subject_id, sequence, data)
    SELECT store, gen_random_uuid(), 'product.updated', 'product', d.public_id, n.latest, d.data
    FROM data d JOIN numbers n ON n.subject_id = d.public_id;
    RETURN QUERY SELECT (r ->> 'id')::uuid FROM jsonb_array_elements(rows_) r;
END
$function$;
