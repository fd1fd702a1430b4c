ALTER TABLE products DROP COLUMN exception_type, DROP COLUMN option_order, DROP COLUMN details_layout;
