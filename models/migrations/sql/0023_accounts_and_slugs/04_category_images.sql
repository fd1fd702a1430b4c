-- The image of a category, a link as those of products; an empty URL means none.
ALTER TABLE categories
    ADD COLUMN image_url text NOT NULL DEFAULT '' CONSTRAINT categories_image_url_length CHECK (char_length(image_url) <= 2048),
    ADD COLUMN image_alt text NOT NULL DEFAULT '' CONSTRAINT categories_image_alt_length CHECK (char_length(image_alt) <= 255);
