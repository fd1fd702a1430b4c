-- What a carrier asks of a product: the size of a packed unit in millimetres (0: unknown), its GTIN (empty: none), and what each unit adds to
-- the price of shipping, in cents. Those of a combination are the product's where they are null.
ALTER TABLE products
    ADD COLUMN length_mm bigint NOT NULL DEFAULT 0 CONSTRAINT products_length_not_negative CHECK (length_mm >= 0),
    ADD COLUMN width_mm bigint NOT NULL DEFAULT 0 CONSTRAINT products_width_not_negative CHECK (width_mm >= 0),
    ADD COLUMN height_mm bigint NOT NULL DEFAULT 0 CONSTRAINT products_height_not_negative CHECK (height_mm >= 0),
    ADD COLUMN gtin text NOT NULL DEFAULT '' CONSTRAINT products_gtin_form CHECK (gtin ~ '^([0-9]{8}|[0-9]{12,14})?$'),
    ADD COLUMN shipping_freight_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT products_shipping_freight_range CHECK (shipping_freight_cents BETWEEN 0 AND 1000000000000000);
ALTER TABLE combinations
    ADD COLUMN length_mm bigint CONSTRAINT combinations_length_not_negative CHECK (length_mm >= 0),
    ADD COLUMN width_mm bigint CONSTRAINT combinations_width_not_negative CHECK (width_mm >= 0),
    ADD COLUMN height_mm bigint CONSTRAINT combinations_height_not_negative CHECK (height_mm >= 0),
    ADD COLUMN gtin text CONSTRAINT combinations_gtin_form CHECK (gtin ~ '^([0-9]{8}|[0-9]{12,14})$'),
    ADD COLUMN shipping_freight_cents bigint
        CONSTRAINT combinations_shipping_freight_range CHECK (shipping_freight_cents BETWEEN 0 AND 1000000000000000);
