-- Undo 0023_accounts_and_slugs. Saved addresses, slugs of categories, pages and vendors, and images of categories are lost. A cart that was
-- merged into another stays expired.

ALTER TABLE categories DROP COLUMN image_url, DROP COLUMN image_alt;
DROP TRIGGER set_slug ON categories;
DROP TRIGGER set_slug ON pages;
DROP TRIGGER set_slug ON vendors;
ALTER TABLE categories DROP COLUMN slug;
ALTER TABLE pages DROP COLUMN slug;
ALTER TABLE vendors DROP COLUMN slug;
DROP FUNCTION vitrine_set_slug();
DROP FUNCTION vitrine_free_slug(text, bigint, bigint, text);
DROP FUNCTION vitrine_slug(text);
ALTER TABLE cart_items DROP COLUMN added_price_cents;
ALTER TABLE carts DROP COLUMN merged_into_id;
DROP TABLE user_addresses;
