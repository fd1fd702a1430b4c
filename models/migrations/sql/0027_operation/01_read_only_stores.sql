-- While a store is read-only, its reads are answered and mutations are 503: it is being moved (docs/deploy.md#move-a-store).
ALTER TABLE tenants ADD COLUMN is_read_only boolean NOT NULL DEFAULT false;
