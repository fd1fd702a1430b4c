-- What search engines read of a product's page; an empty title means the product's name.
ALTER TABLE products
    ADD COLUMN page_title text NOT NULL DEFAULT '',
    ADD COLUMN meta_keywords text NOT NULL DEFAULT '',
    ADD COLUMN meta_description text NOT NULL DEFAULT '';
