ALTER TABLE storefront_keys
    ALTER COLUMN rate_limit SET DEFAULT 600,
    DROP COLUMN per_address;
