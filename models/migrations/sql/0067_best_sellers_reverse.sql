ALTER TABLE products DROP COLUMN sales_rank;
