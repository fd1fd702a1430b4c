-- Undo 0091_shipping_accounts.
DROP TRIGGER shipping_account_updated ON orders;
DROP TRIGGER shipping_account_inserted ON orders;
DROP FUNCTION vitrine_set_shipping_account();
ALTER TABLE orders DROP COLUMN shipping_account;
