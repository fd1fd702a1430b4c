-- Images of records that had none, as those of categories: a link with its alternative text; an empty one means none.
ALTER TABLE pages
    ADD COLUMN image_url text NOT NULL DEFAULT '' CONSTRAINT pages_image_url_length CHECK (char_length(image_url) <= 2048),
    ADD COLUMN image_alt text NOT NULL DEFAULT '' CONSTRAINT pages_image_alt_length CHECK (char_length(image_alt) <= 255);
ALTER TABLE vendors
    ADD COLUMN image_url text NOT NULL DEFAULT '' CONSTRAINT vendors_image_url_length CHECK (char_length(image_url) <= 2048),
    ADD COLUMN image_alt text NOT NULL DEFAULT '' CONSTRAINT vendors_image_alt_length CHECK (char_length(image_alt) <= 255);
ALTER TABLE users
    ADD COLUMN image_url text NOT NULL DEFAULT '' CONSTRAINT users_image_url_length CHECK (char_length(image_url) <= 2048),
    ADD COLUMN image_alt text NOT NULL DEFAULT '' CONSTRAINT users_image_alt_length CHECK (char_length(image_alt) <= 255);

-- The file of an image, besides its link: the address from which it is fetched, or the path of the file, so that a version of the program
-- without media files shows the image too. No existing row refers to a file, so the keys needn't be verified, nor the tables read for it.
DO $do$
DECLARE
    referring text;
BEGIN
    FOREACH referring IN ARRAY ARRAY[
        'product_images', 'categories', 'option_variants', 'combinations', 'attachments', 'pages', 'vendors', 'users'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN media_id bigint', referring);
    END LOOP;
    FOREACH referring IN ARRAY ARRAY[
        'product_images', 'categories', 'option_variants', 'combinations', 'attachments', 'pages', 'vendors', 'users', 'review_images'
    ] LOOP
        EXECUTE format(
            'ALTER TABLE %I ADD CONSTRAINT %I FOREIGN KEY (tenant_id, media_id) REFERENCES media_files (tenant_id, id) NOT VALID',
            referring, referring || '_media_fkey'
        );
        EXECUTE format(
            'CREATE INDEX %I ON %I (tenant_id, media_id) WHERE media_id IS NOT NULL', referring || '_media_idx', referring
        );
    END LOOP;
END
$do$;
