-- The rows of a store that statistics don't know yet were joined with the categories of all stores before it, once for each product: 30 ms
-- a product with 20,000 categories. A row of the primary key is read instead.
ALTER FUNCTION vitrine_update_entry_categories(bigint, bigint[]) SET enable_mergejoin = off;
ALTER FUNCTION vitrine_update_entry_categories(bigint, bigint[]) SET enable_hashjoin = off;
