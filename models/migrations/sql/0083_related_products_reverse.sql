CREATE INDEX products_category_idx ON products (tenant_id, category_id, id);
DROP INDEX products_newest_of_category_idx;
