-- Undo 0042_media. The files of the store are forgotten (their bytes stay in the storage), and the images of pages, vendors, users and
-- reviews are lost. An image keeps its link; one that was uploaded shows a path that is not served any more.
DROP TABLE review_images;
ALTER TABLE pages DROP COLUMN media_id, DROP COLUMN image_url, DROP COLUMN image_alt;
ALTER TABLE vendors DROP COLUMN media_id, DROP COLUMN image_url, DROP COLUMN image_alt;
ALTER TABLE users DROP COLUMN media_id, DROP COLUMN image_url, DROP COLUMN image_alt;
ALTER TABLE product_images DROP COLUMN media_id;
ALTER TABLE categories DROP COLUMN media_id;
ALTER TABLE option_variants DROP COLUMN media_id;
ALTER TABLE combinations DROP COLUMN media_id;
ALTER TABLE attachments DROP COLUMN media_id;
DROP TABLE media_files;
