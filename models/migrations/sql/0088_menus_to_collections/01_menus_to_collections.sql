-- Items of menus lead to collections too. The version before shows such an item as a heading.
ALTER TABLE menu_items ADD COLUMN collection_id bigint;
ALTER TABLE menu_items DROP CONSTRAINT menu_items_one_target;
ALTER TABLE menu_items
    ADD CONSTRAINT menu_items_one_target
        CHECK (num_nonnulls(product_id, category_id, page_id, vendor_id, collection_id, link) <= 1),
    ADD CONSTRAINT menu_items_collection_fkey FOREIGN KEY (tenant_id, collection_id)
        REFERENCES collections (tenant_id, id) ON DELETE CASCADE;
CREATE INDEX menu_items_collection_idx ON menu_items (tenant_id, collection_id) WHERE collection_id IS NOT NULL;
