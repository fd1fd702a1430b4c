-- Undo 0088_menus_to_collections. Items that lead to collections are lost, and those below them are shown no more.
DELETE FROM menu_items WHERE collection_id IS NOT NULL;
ALTER TABLE menu_items DROP COLUMN collection_id;
ALTER TABLE menu_items
    ADD CONSTRAINT menu_items_one_target CHECK (num_nonnulls(product_id, category_id, page_id, vendor_id, link) <= 1);
