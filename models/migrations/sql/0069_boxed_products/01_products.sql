-- How many units of a product are packed in a box of its size: at most `box_max_quantity`, at least `box_min_quantity`. Below 2 the size is
-- that of a unit.
ALTER TABLE products
    ADD COLUMN box_min_quantity integer NOT NULL DEFAULT 0 CONSTRAINT products_box_min_not_negative CHECK (box_min_quantity >= 0),
    ADD COLUMN box_max_quantity integer NOT NULL DEFAULT 0 CONSTRAINT products_box_max_not_negative CHECK (box_max_quantity >= 0);
