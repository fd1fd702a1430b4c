-- Store 1 gets what facets count: a tree of categories, many vendors, filterable features, reviews, products out of stock. Deterministic.
-- Without triggers, so that the entries of the search are made once, at the end.
SET session_replication_role = replica;

INSERT INTO vendors (tenant_id, id, public_id, name, slug, email)
SELECT 1, 1000000 + n, md5('search vendor ' || n)::uuid, 'Loja ' || n, 'loja-' || n, 'loja' || n || '@example.com' FROM generate_series(1, 300) n;

-- Below the 20 categories that there are: five each, and three below each of these.
INSERT INTO categories (tenant_id, id, public_id, name, slug, parent_id, id_path, position)
SELECT 1, 1000 + c.id * 10 + n, md5('child ' || c.id || ' ' || n)::uuid, 'Seção ' || c.id || '.' || n, 'secao-' || c.id || '-' || n, c.id, c.id_path, n
FROM categories c, generate_series(1, 5) n WHERE c.tenant_id = 1;
UPDATE categories SET id_path = id_path || '/' || id WHERE tenant_id = 1 AND parent_id IS NOT NULL;
INSERT INTO categories (tenant_id, id, public_id, name, slug, parent_id, id_path, position)
SELECT 1, 100000 + c.id * 10 + n, md5('grandchild ' || c.id || ' ' || n)::uuid, 'Grupo ' || c.id || '.' || n, 'grupo-' || c.id || '-' || n, c.id, c.id_path, n
FROM categories c, generate_series(1, 3) n WHERE c.tenant_id = 1 AND c.parent_id IS NOT NULL;
UPDATE categories SET id_path = id_path || '/' || id WHERE tenant_id = 1 AND name LIKE 'Grupo %';

-- Five features with 200, 40, 12, 8 and 3 values.
INSERT INTO features (tenant_id, id, public_id, name, type, position, filterable)
SELECT 1, n, md5('search feature ' || n)::uuid, 'Característica ' || n, 'S', n, true FROM generate_series(1, 5) n;
INSERT INTO feature_variants (tenant_id, id, public_id, feature_id, name, position)
SELECT 1, f.id * 1000 + n, md5('search variant ' || f.id || ' ' || n)::uuid, f.id, 'Valor ' || n, n
FROM features f, generate_series(1, (ARRAY[200, 40, 12, 8, 3])[f.position]) n WHERE f.tenant_id = 1;

WITH sections AS (SELECT array_agg(id ORDER BY id) AS ids FROM categories WHERE tenant_id = 1 AND name LIKE 'Grupo %')
UPDATE product_categories k SET category_id = s.ids[1 + abs(hashint8(k.product_id)) % cardinality(s.ids)] FROM sections s WHERE k.tenant_id = 1;

WITH variants AS (SELECT feature_id, array_agg(id ORDER BY id) AS ids FROM feature_variants WHERE tenant_id = 1 GROUP BY feature_id)
INSERT INTO feature_values (tenant_id, public_id, product_id, feature_id, variant_id)
SELECT 1, gen_random_uuid(), p.id, v.feature_id, v.ids[1 + abs(hashint8(p.id * 31 + v.feature_id)) % cardinality(v.ids)]
FROM products p, variants v WHERE p.tenant_id = 1;

INSERT INTO discussion_threads (tenant_id, id, public_id, object_type, object_id)
SELECT 1, id, gen_random_uuid(), 'P', id FROM products WHERE tenant_id = 1 AND id % 3 = 0;
INSERT INTO discussion_posts (tenant_id, id, public_id, thread_id, rating, status)
SELECT 1, h.id * 2 + n, gen_random_uuid(), h.id, 1 + abs(hashint8(h.id * 7 + n)) % 5, 'A'
FROM discussion_threads h, generate_series(1, 2) n WHERE h.tenant_id = 1;

WITH sellers AS (SELECT array_agg(id ORDER BY id) AS ids FROM vendors WHERE tenant_id = 1 AND name LIKE 'Loja %')
UPDATE products p SET vendor_id = s.ids[1 + p.id % cardinality(s.ids)], on_hand = CASE WHEN p.id % 7 = 0 THEN 0 ELSE p.on_hand END
FROM sellers s WHERE p.tenant_id = 1;

SET session_replication_role = origin;
SELECT vitrine_update_search_entries(1, ARRAY(SELECT id FROM products WHERE tenant_id = 1 AND deleted_at IS NULL));
-- Two of 200 tags, the first ones of more products than the last.
INSERT INTO product_tags (tenant_id, public_id, product_id, tag)
SELECT tenant_id, gen_random_uuid(), id, 'marca ' || least(id % 200, id % 37 + n) FROM products, generate_series(1, 2) n WHERE tenant_id = 1
ON CONFLICT DO NOTHING;
