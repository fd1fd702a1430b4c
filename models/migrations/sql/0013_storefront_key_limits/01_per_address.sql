-- A key stands in every customer's browser, so its limit counts all of them and each client address has a share of its own.
-- Existing keys keep their limit, without shares.
ALTER TABLE storefront_keys
    ALTER COLUMN rate_limit SET DEFAULT 60000,
    ADD COLUMN per_address integer NOT NULL DEFAULT 0
        CONSTRAINT storefront_keys_per_address_range CHECK (per_address BETWEEN 0 AND 100000);
