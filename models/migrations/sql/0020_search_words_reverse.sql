-- Undo 0020_search_words. Words with digits and an `e` are no longer found.

CREATE OR REPLACE FUNCTION vitrine_search_vector(store bigint, words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN strip(to_tsvector('simple'::regconfig, "left"(vitrine_words("left"(words, 100000)), 100000)))
        || array_to_tsvector(ARRAY['#' || store]);

ALTER TABLE products DROP COLUMN search;
ALTER TABLE products ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS
    (vitrine_search_vector(tenant_id, name || ' ' || sku || ' ' || short_description || ' ' || description)) STORED;
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);

ALTER TABLE users DROP COLUMN search;
ALTER TABLE users ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS
    (vitrine_search_vector(tenant_id, firstname || ' ' || lastname || ' ' || coalesce(email, ''))) STORED;
CREATE INDEX users_search_idx ON users USING gin (search) WITH (fastupdate = off);
