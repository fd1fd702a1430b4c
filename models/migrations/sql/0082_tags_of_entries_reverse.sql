-- Undo 0082_tags_of_entries.
DROP TRIGGER search_entries_updated ON product_tags;
DROP TRIGGER search_entries_deleted ON product_tags;
DROP TRIGGER search_entries_inserted ON product_tags;
DROP TRIGGER search_entry_tags ON search_entries;
DROP FUNCTION vitrine_product_tags_changed(), vitrine_set_entry_tags();
DROP FUNCTION vitrine_update_entry_tags(bigint, bigint[]);
ALTER TABLE search_entries DROP COLUMN tags;
