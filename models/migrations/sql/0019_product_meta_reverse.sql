-- Undo 0019_product_meta. The columns' texts are lost.

ALTER TABLE products DROP COLUMN page_title, DROP COLUMN meta_keywords, DROP COLUMN meta_description;
