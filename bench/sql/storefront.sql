-- Store 1 gets, on top of search.sql, what the pages of a storefront show: options and combinations of each tenth product, texts of
-- reviews, a catalogue promotion of a tenth of the products, content pages, saved addresses, a cart of each customer. Deterministic.
SET session_replication_role = replica;

INSERT INTO options (tenant_id, id, public_id, name, type, required, inventory, position)
SELECT 1, n, md5('option ' || n)::uuid, (ARRAY['Cor', 'Tamanho'])[n], 'S', true, true, n FROM generate_series(1, 2) n;
INSERT INTO option_variants (tenant_id, id, public_id, option_id, name, modifier, position)
SELECT 1, o * 10 + n, md5('option variant ' || o || ' ' || n)::uuid, o, 'Variante ' || o || '.' || n, 500 * (n - 1), n
FROM generate_series(1, 2) o, generate_series(1, 2) n;
INSERT INTO product_options (tenant_id, public_id, product_id, option_id, position)
SELECT 1, md5('product option ' || p.id || ' ' || o)::uuid, p.id, o, o
FROM products p, generate_series(1, 2) o WHERE p.tenant_id = 1 AND p.id % 10 = 0;
INSERT INTO combinations (tenant_id, id, public_id, product_id, hash, on_hand, position)
SELECT 1, p.id * 4 + a * 2 + b, md5('combination ' || p.id || ' ' || a || ' ' || b)::uuid, p.id,
    '1_1' || a + 1 || '_2_2' || b + 1, 1000000, a * 2 + b
FROM products p, generate_series(0, 1) a, generate_series(0, 1) b WHERE p.tenant_id = 1 AND p.id % 10 = 0;
INSERT INTO combination_choices (tenant_id, public_id, combination_id, option_id, variant_id)
SELECT 1, gen_random_uuid(), c.id, o, split_part(c.hash, '_', 2 * o)::bigint
FROM combinations c, generate_series(1, 2) o WHERE c.tenant_id = 1;

UPDATE discussion_posts SET name = 'Ana ' || id, message = 'Chegou bem embalado, "' || id || '" vezes melhor que na foto.',
    created_at = timestamptz '2025-04-01 00:00Z' + id * interval '1 minute' WHERE tenant_id = 1;

-- Ten per cent off what is below two of the 20 root categories, now; another begins much later.
INSERT INTO promotions (tenant_id, id, public_id, name, zone, rule, gifts, conditions, bonuses, from_at)
SELECT 1, n, md5('promotion ' || n)::uuid, 'Liquidação ' || n, 'catalog',
    '{"set": "all", "holds": true, "of": [{"test": "categories", "op": "in", "value": [3, 4]}]}',
    '[{"gift": "product_discount", "way": "by_percent", "value": 10000, "products": null, "categories": null}]',
    '{"categories": [3, 4]}', '{"product_discount": "10%"}', (ARRAY['2025-01-01 00:00Z', '2100-01-01 00:00Z']::timestamptz[])[n]
FROM generate_series(1, 2) n;

INSERT INTO pages (tenant_id, id, public_id, parent_id, name, slug, type, description, meta_description, seo_title, position, lang_code)
SELECT 1, n, md5('page ' || n)::uuid, CASE WHEN n > 5 THEN n % 5 + 1 END, 'Página ' || n, 'pagina-' || n, 'T',
    repeat('<p>Trocamos em trinta dias, "sem perguntas". Ver a página ' || n || '.</p>', 20), 'Sobre a página ' || n, '', n, 'pt'
FROM generate_series(1, 30) n;

INSERT INTO user_addresses (tenant_id, public_id, user_id, name, street, number, district, city, state, zipcode, is_default_shipping,
    is_default_billing)
SELECT 1, md5('saved address ' || u.id || ' ' || n)::uuid, u.id, u.firstname, 'Rua das Flores', n::text, 'Centro', 'Recife', 'PE',
    '50010000', n = 1, n = 2
FROM users u, generate_series(1, 2) n WHERE u.tenant_id = 1;
UPDATE carts c SET user_id = u.id, total_cents = 10000 FROM users u
WHERE c.tenant_id = 1 AND u.tenant_id = 1 AND c.id = (SELECT max(id) FROM carts WHERE tenant_id = 1) - u.id;

SET session_replication_role = origin;
SELECT vitrine_update_search_entries(1, ARRAY(SELECT id FROM products WHERE tenant_id = 1 AND id % 10 = 0 AND deleted_at IS NULL));
-- The load comes from one client with one key.
ALTER TABLE storefront_keys DROP CONSTRAINT storefront_keys_rate_limit_range, DROP CONSTRAINT storefront_keys_per_address_range;
