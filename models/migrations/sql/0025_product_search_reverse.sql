-- Undo 0025_product_search.

DO $$
DECLARE
    store_table text;
BEGIN
    FOREACH store_table IN ARRAY ARRAY['product_categories', 'feature_values', 'feature_value_variants', 'discussion_posts'] LOOP
        EXECUTE format('DROP TRIGGER search_entries_inserted ON %I', store_table);
        EXECUTE format('DROP TRIGGER search_entries_deleted ON %I', store_table);
        EXECUTE format('DROP TRIGGER search_entries_updated ON %I', store_table);
    END LOOP;
END
$$;
DROP TRIGGER search_entry_changed ON products;
DROP TRIGGER search_words_changed ON products;
DROP TRIGGER search_entries_inserted ON products;
DROP TRIGGER search_entry_inserted ON combinations;
DROP TRIGGER search_entry_updated ON combinations;
DROP TRIGGER search_entries_deleted ON combinations;
DROP TRIGGER search_entries_moved ON categories;
DROP TRIGGER search_entries_filterable ON features;
DROP FUNCTION vitrine_product_changed(), vitrine_product_texts_changed(), vitrine_products_inserted(), vitrine_product_parts_changed(),
    vitrine_feature_choices_changed(), vitrine_reviews_changed(), vitrine_combination_changed(), vitrine_category_moved(),
    vitrine_feature_filterable(), vitrine_update_search_entries(bigint, bigint[]), vitrine_add_search_words(bigint, bigint[]);
DROP TABLE search_entries, search_words;
DROP FUNCTION vitrine_letters(text);
ALTER TABLE features DROP COLUMN filterable;

ALTER TABLE products DROP COLUMN search;
ALTER TABLE products ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS
    (vitrine_search_vector(tenant_id, name || ' ' || sku || ' ' || short_description || ' ' || description)) STORED;
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);
DROP FUNCTION vitrine_product_vector(bigint, text), vitrine_products_query(text[], boolean), vitrine_required_words(text[]),
    vitrine_exact_query(text), vitrine_word_query(text), vitrine_sku_word(text), vitrine_product_lexemes(text), vitrine_product_words(text),
    vitrine_stem(text);
