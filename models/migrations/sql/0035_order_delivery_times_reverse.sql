-- Undo 0035_order_delivery_times.
ALTER TABLE orders DROP COLUMN delivery_time;
