-- Undo 0049_freight. Dimensions, GTINs and freight of products and combinations are lost.

ALTER TABLE products
    DROP COLUMN length_mm, DROP COLUMN width_mm, DROP COLUMN height_mm, DROP COLUMN gtin, DROP COLUMN shipping_freight_cents;
ALTER TABLE combinations
    DROP COLUMN length_mm, DROP COLUMN width_mm, DROP COLUMN height_mm, DROP COLUMN gtin, DROP COLUMN shipping_freight_cents;
