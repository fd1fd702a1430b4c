-- Undo 0070_words_of_products.
DROP TRIGGER search_words_changed ON products;
ALTER TABLE products DROP COLUMN search, DROP COLUMN search_words;
ALTER TABLE products ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (vitrine_product_vector(
    tenant_id, name || ' ' || vitrine_sku_word(sku) || ' ' || short_description || ' ' || description
)) STORED;
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);
CREATE TRIGGER search_words_changed AFTER UPDATE ON products FOR EACH ROW
    WHEN ((OLD.name, OLD.sku, OLD.short_description, OLD.description) IS DISTINCT FROM
        (NEW.name, NEW.sku, NEW.short_description, NEW.description))
    EXECUTE FUNCTION vitrine_product_texts_changed();
DO $do$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_search') THEN
        GRANT SELECT (search) ON products TO vitrine_search;
    END IF;
END
$do$;
