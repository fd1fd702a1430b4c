-- The units of a line that stayed deducted when their completed order was cancelled. Of orders that were cancelled before nobody knows: all
-- of it counts as released.
ALTER TABLE order_lines ADD COLUMN unreturned bigint NOT NULL DEFAULT 0;
