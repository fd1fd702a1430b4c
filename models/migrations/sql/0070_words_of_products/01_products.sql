-- Words by which a product is searched and that nobody reads. The vectors are generated again, as in 0025_product_search: columns are dropped
-- and added, since PostgreSQL 15 can't change a generated column's expression. The version before searches them too.
ALTER TABLE products ADD COLUMN search_words text NOT NULL DEFAULT '';
ALTER TABLE products DROP COLUMN search;
ALTER TABLE products ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (vitrine_product_vector(
    tenant_id, name || ' ' || vitrine_sku_word(sku) || ' ' || short_description || ' ' || description || ' ' || search_words
)) STORED;
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);

DROP TRIGGER search_words_changed ON products;
CREATE TRIGGER search_words_changed AFTER UPDATE ON products FOR EACH ROW
    WHEN ((OLD.name, OLD.sku, OLD.short_description, OLD.description, OLD.search_words) IS DISTINCT FROM
        (NEW.name, NEW.sku, NEW.short_description, NEW.description, NEW.search_words))
    EXECUTE FUNCTION vitrine_product_texts_changed();

-- The role of the search functions reads the column (models/roles.py), which must not wait for the end of the update.
DO $do$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_search') THEN
        GRANT SELECT (search) ON products TO vitrine_search;
    END IF;
END
$do$;
