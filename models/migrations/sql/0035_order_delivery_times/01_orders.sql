-- The delivery time that an order was placed with; null in orders from before, which show that of their shipping method.
ALTER TABLE orders ADD COLUMN delivery_time text;
