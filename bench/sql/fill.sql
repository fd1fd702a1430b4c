-- Stores $1 to $2 (numbers) with $3 products, $4 users and $5 orders each. Deterministic: the same numbers produce the same rows.
-- Each statement is run separately with these five parameters; ids are (store - 1) * count + n.

-- name: stores
INSERT INTO tenants (id, public_id, name)
OVERRIDING SYSTEM VALUE
SELECT s, md5('store ' || s)::uuid, 'Loja ' || s FROM generate_series($1::bigint, $2::bigint) s;

-- name: vendors
INSERT INTO vendors (tenant_id, id, public_id, name, email)
OVERRIDING SYSTEM VALUE
SELECT s, (s - 1) * 5 + n, md5('vendor ' || s || ' ' || n)::uuid, 'Ateliê ' || n, 'vendor' || n || '@example.com'
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, 5) n;

-- name: users
INSERT INTO users (tenant_id, id, public_id, email, user_type, firstname, lastname, email_verified_at, created_at)
OVERRIDING SYSTEM VALUE
SELECT s, (s - 1) * $4 + n, md5('user ' || s || ' ' || n)::uuid, 'user' || n || '@example.com',
    CASE n WHEN 1 THEN 'A' ELSE 'C' END,
    (ARRAY['Ana', 'Bia', 'Caio', 'João', 'Lúcia', 'Sônia'])[n % 6 + 1], (ARRAY['Souza', 'Lima', 'Conceição', 'Reis'])[n % 4 + 1],
    timestamptz '2025-01-01 00:00Z', timestamptz '2025-01-01 00:00Z' + n * interval '1 minute'
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, $4::bigint) n;

-- name: owners
UPDATE tenants SET owner_id = (id - 1) * $4 + 1 WHERE id BETWEEN $1 AND $2;

-- name: categories
INSERT INTO categories (tenant_id, id, public_id, name, id_path, position)
OVERRIDING SYSTEM VALUE
SELECT s, (s - 1) * 20 + n, md5('category ' || s || ' ' || n)::uuid, 'Categoria ' || n, ((s - 1) * 20 + n)::text, n
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, 20) n;

-- name: products
INSERT INTO products (tenant_id, id, public_id, vendor_id, category_id, name, sku, slug, description, short_description,
    price_cents, compare_at_cents, on_hand, weight_grams, created_at, updated_at)
OVERRIDING SYSTEM VALUE
SELECT s, (s - 1) * $3 + n, md5('product ' || s || ' ' || n)::uuid, (s - 1) * 5 + n % 5 + 1, (s - 1) * 20 + n % 20 + 1,
    (ARRAY['Caneca', 'Prato', 'Jarra', 'Vaso', 'Cesto', 'Toalha', 'Colher'])[n % 7 + 1] || ' "' || n || '" de cerâmica',
    'SKU-' || n, 'produto-' || n, '<p>Feito à mão, peça ' || n || ' de uma série pequena.</p>', 'Peça ' || n,
    1000 + n * 37 % 90000, CASE WHEN n % 3 = 0 THEN 2000 + n * 37 % 90000 END, 1000000000, 100 + n % 900,
    timestamptz '2025-02-01 00:00Z' + n * interval '1 minute', timestamptz '2025-02-01 00:00Z' + n * interval '1 minute'
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, $3::bigint) n;

-- name: product_categories
INSERT INTO product_categories (tenant_id, public_id, product_id, category_id)
SELECT s, md5('product category ' || s || ' ' || n)::uuid, (s - 1) * $3 + n, (s - 1) * 20 + n % 20 + 1
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, $3::bigint) n;

-- name: product_images
INSERT INTO product_images (tenant_id, public_id, product_id, url, alt, position, width, height)
SELECT s, md5('image ' || s || ' ' || n || ' ' || i)::uuid, (s - 1) * $3 + n,
    'https://img.example.com/' || n || '-' || i || '.jpg', 'Foto ' || i || ' da peça ' || n, i, 800, 600
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, $3::bigint) n, generate_series(0, 1) i;

-- name: payment_methods
INSERT INTO payment_methods (tenant_id, id, public_id, name, processor, kind)
OVERRIDING SYSTEM VALUE
SELECT s, s, md5('payment method ' || s)::uuid, 'Pix', 'sandbox', 'PIX' FROM generate_series($1::bigint, $2::bigint) s;

-- name: shipping_methods
INSERT INTO shipping_methods (tenant_id, id, public_id, name, base_cents, delivery_time)
OVERRIDING SYSTEM VALUE
SELECT s, s, md5('shipping method ' || s)::uuid, 'Sedex', 1500, '3 dias' FROM generate_series($1::bigint, $2::bigint) s;

-- name: orders
INSERT INTO orders (tenant_id, id, public_id, user_id, vendor_id, status, stock_state, subtotal_cents, shipping_cents,
    total_cents, payment_method_id, shipping_method_id, email, firstname, lastname, created_at, updated_at)
OVERRIDING SYSTEM VALUE
SELECT s, (s - 1) * $5 + n, md5('order ' || s || ' ' || n)::uuid, u.id, NULL, (ARRAY['O', 'P', 'C'])[n % 3 + 1], (ARRAY['N', 'D', 'N'])[n % 3 + 1],
    2 * (1000 + n % 500), 1500, 2 * (1000 + n % 500) + 1500, s, s, u.email, u.firstname, u.lastname,
    timestamptz '2025-03-01 00:00Z' + n * interval '1 minute', timestamptz '2025-03-01 00:00Z' + n * interval '1 minute'
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, $5::bigint) n
JOIN LATERAL (SELECT * FROM users u WHERE u.tenant_id = s AND u.id = (s - 1) * $4 + n % ($4 - 1) + 2) u ON true;

-- name: order_lines
INSERT INTO order_lines (tenant_id, public_id, order_id, position, product_id, vendor_id, product_name, product_code,
    quantity, price_cents, base_price_cents)
SELECT s, md5('line ' || s || ' ' || n || ' ' || i)::uuid, (s - 1) * $5 + n, i, p.id, p.vendor_id, p.name, p.sku,
    1, 1000 + n % 500, 1000 + n % 500
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, $5::bigint) n, generate_series(1, 2) i
JOIN LATERAL (SELECT * FROM products p WHERE p.tenant_id = s AND p.id = (s - 1) * $3 + (n + i * 7) % $3 + 1) p ON true;

-- name: order_addresses
INSERT INTO order_addresses (tenant_id, public_id, order_id, kind, firstname, lastname, street, number, district, city, state, zipcode)
SELECT o.tenant_id, md5('address ' || o.id)::uuid, o.id, 'S', o.firstname, o.lastname, 'Rua do Sol', '10', 'Centro', 'Recife', 'PE',
    '50010000'
FROM orders o WHERE o.tenant_id BETWEEN $1 AND $2;

-- name: order_status_changes
INSERT INTO order_status_changes (tenant_id, public_id, order_id, at, to_status)
SELECT o.tenant_id, md5('change ' || o.id)::uuid, o.id, o.created_at, 'O' FROM orders o WHERE o.tenant_id BETWEEN $1 AND $2;

-- name: carts
INSERT INTO carts (tenant_id, id, public_id, address, shipping_method_id, expires_at)
OVERRIDING SYSTEM VALUE
SELECT s, (s - 1) * 2 * $5 + n, md5('cart ' || s || ' ' || n)::uuid,
    '{"name": "Ana Souza", "street": "Rua do Sol", "number": "10", "district": "Centro", "city": "Recife", "state": "PE",
        "country": "BR", "zipcode": "50010000", "phone": "", "complement": ""}', s, timestamptz '2100-01-01 00:00Z'
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, 2 * $5::bigint) n;

-- name: cart_items
INSERT INTO cart_items (tenant_id, public_id, cart_id, product_id, quantity, product_name, price_cents)
SELECT s, md5('cart item ' || s || ' ' || n || ' ' || i)::uuid, (s - 1) * 2 * $5 + n, p.id, i, p.name, p.price_cents
FROM generate_series($1::bigint, $2::bigint) s, generate_series(1, 2 * $5::bigint) n, generate_series(1, 2) i
JOIN LATERAL (SELECT * FROM products p WHERE p.tenant_id = s AND p.id = (s - 1) * $3 + (2 * n + i) % $3 + 1) p ON true;
