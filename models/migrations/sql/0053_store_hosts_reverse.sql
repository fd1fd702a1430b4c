-- Undo 0053_store_hosts. Claims are lost; every host of a store answers by itself again.
DROP TABLE store_host_claims;
ALTER TABLE store_hosts DROP COLUMN is_redirected, DROP COLUMN is_primary, DROP COLUMN verified_at;
