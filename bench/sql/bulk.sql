-- Every product of store 1 gets a second category and values of three features. Deterministic.
SET session_replication_role = replica;

INSERT INTO features (tenant_id, id, public_id, name, type, position)
SELECT 1, n, md5('bulk feature ' || n)::uuid, 'Característica ' || n, 'S', n FROM generate_series(1, 3) n;
INSERT INTO feature_variants (tenant_id, id, public_id, feature_id, name, position)
SELECT 1, f.id * 1000 + n, md5('bulk variant ' || f.id || ' ' || n)::uuid, f.id, 'Valor ' || n, n
FROM features f, generate_series(1, 40) n WHERE f.tenant_id = 1;
INSERT INTO feature_values (tenant_id, public_id, product_id, feature_id, variant_id)
SELECT 1, gen_random_uuid(), p.id, f.id, f.id * 1000 + 1 + (p.id * 31 + f.id) % 40 FROM products p, features f WHERE p.tenant_id = 1 AND f.tenant_id = 1;
INSERT INTO product_categories (tenant_id, public_id, product_id, category_id)
SELECT 1, gen_random_uuid(), p.id, p.id % 20 + 1 FROM products p WHERE p.tenant_id = 1
ON CONFLICT DO NOTHING;

SET session_replication_role = origin;
