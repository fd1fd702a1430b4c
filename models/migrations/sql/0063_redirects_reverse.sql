-- Undo 0063_redirects. All redirects are lost.
DROP TRIGGER keep_address ON products;
DROP TRIGGER keep_address ON categories;
DROP TRIGGER keep_address ON pages;
DROP TRIGGER keep_address ON vendors;
DROP FUNCTION vitrine_keep_address();
DROP TABLE redirects;
DROP FUNCTION vitrine_path(text);
