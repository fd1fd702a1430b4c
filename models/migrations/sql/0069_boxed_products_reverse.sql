-- Undo 0069_boxed_products.
ALTER TABLE products DROP COLUMN box_min_quantity, DROP COLUMN box_max_quantity;
