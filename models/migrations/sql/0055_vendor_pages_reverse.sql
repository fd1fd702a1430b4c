-- Undo 0055_vendor_pages. Descriptions and banners of vendors are lost.
DROP TABLE vendor_banners;
ALTER TABLE vendors DROP COLUMN description;
