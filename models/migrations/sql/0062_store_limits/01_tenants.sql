-- The limits that the platform's operator sets for a store, by name (domain.store_limits); one that is absent doesn't limit.
ALTER TABLE tenants ADD COLUMN limits jsonb NOT NULL DEFAULT '{}' CONSTRAINT tenants_limits_form CHECK (jsonb_typeof(limits) = 'object');
