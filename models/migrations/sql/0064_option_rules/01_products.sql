-- What the exceptions of a product's options are, forbidden or the only allowed ones, unless one says otherwise. The other columns are read
-- and written for programs of other systems, as CS-Cart names them.
ALTER TABLE products
    ADD COLUMN exception_type text NOT NULL DEFAULT 'F' CONSTRAINT products_exception_type_known CHECK (exception_type IN ('F', 'A')),
    ADD COLUMN option_order text NOT NULL DEFAULT 'P' CONSTRAINT products_option_order_known CHECK (option_order IN ('P', 'S')),
    ADD COLUMN details_layout text NOT NULL DEFAULT '' CONSTRAINT products_details_layout_length CHECK (char_length(details_layout) <= 255);
