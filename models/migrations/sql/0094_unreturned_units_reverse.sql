ALTER TABLE order_lines DROP COLUMN unreturned;
