-- The stored vectors are generated again. Columns are dropped and added, since PostgreSQL 15 can't change a generated column's expression.
ALTER TABLE products DROP COLUMN search;
ALTER TABLE products ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS
    (vitrine_search_vector(tenant_id, name || ' ' || sku || ' ' || short_description || ' ' || description)) STORED;
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);

ALTER TABLE users DROP COLUMN search;
ALTER TABLE users ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS
    (vitrine_search_vector(tenant_id, firstname || ' ' || lastname || ' ' || coalesce(email, ''))) STORED;
CREATE INDEX users_search_idx ON users USING gin (search) WITH (fastupdate = off);

-- The role of the search functions reads the columns (models/roles.py), which must not wait for the end of the update.
DO $do$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_search') THEN
        GRANT SELECT (search) ON products, users TO vitrine_search;
    END IF;
END
$do$;
