-- In which quantities a product is sold besides its least and greatest one (0: any): in steps, and in how many of them at most. The other
-- columns are read and written for programs of other systems, as CS-Cart names them.
ALTER TABLE products
    ADD COLUMN quantity_step integer NOT NULL DEFAULT 0 CONSTRAINT products_quantity_step_not_negative CHECK (quantity_step >= 0),
    ADD COLUMN quantity_choices integer NOT NULL DEFAULT 0 CONSTRAINT products_quantity_choices_not_negative CHECK (quantity_choices >= 0),
    ADD COLUMN low_stock_limit integer NOT NULL DEFAULT 0 CONSTRAINT products_low_stock_limit_not_negative CHECK (low_stock_limit >= 0),
    ADD COLUMN available_since timestamptz,
    ADD COLUMN out_of_stock_action text NOT NULL DEFAULT 'N'
        CONSTRAINT products_out_of_stock_action_known CHECK (out_of_stock_action IN ('N', 'B', 'S')),
    ADD COLUMN zero_price_action text NOT NULL DEFAULT 'R'
        CONSTRAINT products_zero_price_action_known CHECK (zero_price_action IN ('R', 'P', 'A')),
    ADD COLUMN unlimited_download boolean NOT NULL DEFAULT false,
    ADD COLUMN promo_text text NOT NULL DEFAULT '',
    ADD COLUMN ncm text NOT NULL DEFAULT '' CONSTRAINT products_ncm_form CHECK (ncm ~ '^([0-9]{8})?$');
