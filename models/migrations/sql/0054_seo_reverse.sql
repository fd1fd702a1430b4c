-- Undo 0054_seo. The texts for search engines of categories and vendors are lost.
ALTER TABLE categories DROP COLUMN page_title, DROP COLUMN meta_keywords, DROP COLUMN meta_description;
ALTER TABLE vendors DROP COLUMN page_title, DROP COLUMN meta_keywords, DROP COLUMN meta_description;
ALTER TABLE pages DROP COLUMN page_title;
