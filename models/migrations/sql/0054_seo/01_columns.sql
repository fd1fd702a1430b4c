-- The texts for search engines of categories and vendors, named as those of products. A page's title is `seo_title`; the generated column
-- reads it by the common name.
ALTER TABLE categories
    ADD COLUMN page_title text NOT NULL DEFAULT '',
    ADD COLUMN meta_keywords text NOT NULL DEFAULT '',
    ADD COLUMN meta_description text NOT NULL DEFAULT '';
ALTER TABLE vendors
    ADD COLUMN page_title text NOT NULL DEFAULT '',
    ADD COLUMN meta_keywords text NOT NULL DEFAULT '',
    ADD COLUMN meta_description text NOT NULL DEFAULT '';
ALTER TABLE pages ADD COLUMN page_title text NOT NULL GENERATED ALWAYS AS (seo_title) STORED;
