-- The units of a line that stayed deducted when their order released its stock: shipped ones, and those of a completed order. Of orders that
-- released it before nobody knows: all of it counts as released.
ALTER TABLE order_lines ADD COLUMN unreturned bigint NOT NULL DEFAULT 0;
