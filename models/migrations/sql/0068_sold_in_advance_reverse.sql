-- Undo 0068_sold_in_advance. Lines that were sold in advance stay without stock.
DROP INDEX products_available_since_idx;
DROP TRIGGER search_entry_sale_changed ON products;
DROP TRIGGER search_entry_sale ON search_entries;
DROP FUNCTION vitrine_product_sale_changed(), vitrine_set_entry_sale();
ALTER TABLE search_entries DROP COLUMN in_advance, DROP COLUMN available_since;
ALTER TABLE order_lines DROP COLUMN in_advance;
