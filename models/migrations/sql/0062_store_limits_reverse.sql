ALTER TABLE tenants DROP COLUMN limits;
