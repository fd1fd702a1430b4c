-- The search vectors of products are generated again, as in 0020_search_words. The previous version finds what it found before, and
-- codes without their hyphens.
CREATE FUNCTION vitrine_product_vector(store bigint, words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(array_append(vitrine_product_lexemes(words), '#' || store));

ALTER TABLE products DROP COLUMN search;
ALTER TABLE products ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (vitrine_product_vector(
    tenant_id, name || ' ' || vitrine_sku_word(sku) || ' ' || short_description || ' ' || description
)) STORED;
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);

-- Features whose values narrow down a search.
ALTER TABLE features ADD COLUMN filterable boolean NOT NULL DEFAULT false;
