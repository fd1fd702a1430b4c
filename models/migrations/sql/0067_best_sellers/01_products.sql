-- How well a product sells: its place among the store's products by the units sold lately, from 1 for the fewest; 0 without sales.
-- The worker ranks them (domain/orders/best_sellers.py).
ALTER TABLE products ADD COLUMN sales_rank bigint NOT NULL DEFAULT 0 CONSTRAINT products_sales_rank_range CHECK (sales_rank >= 0);
CREATE INDEX products_sales_rank_idx ON products (tenant_id, sales_rank, id) WHERE deleted_at IS NULL;
