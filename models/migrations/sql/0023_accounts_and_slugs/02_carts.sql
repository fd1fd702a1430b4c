-- The cart that took over the items of this one, when its customer signed in.
ALTER TABLE carts ADD COLUMN merged_into_id bigint;
ALTER TABLE carts ADD CONSTRAINT carts_merged_into_fkey FOREIGN KEY (tenant_id, merged_into_id)
    REFERENCES carts (tenant_id, id) ON DELETE SET NULL (merged_into_id);
CREATE INDEX carts_merged_into_idx ON carts (tenant_id, merged_into_id) WHERE merged_into_id IS NOT NULL;

-- The price when the item was added or its quantity set, null for items of earlier versions. `price_cents` is that of the cart's last change.
ALTER TABLE cart_items ADD COLUMN added_price_cents bigint
    CONSTRAINT cart_items_added_price_range CHECK (added_price_cents BETWEEN 0 AND 1000000000000000);
