-- The newest products of a category, which a product page shows as related: all of the category were read and sorted for them.
CREATE INDEX CONCURRENTLY products_newest_of_category_idx ON products (tenant_id, category_id, created_at, id);
