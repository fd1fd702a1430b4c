-- The addresses that users save; orders and carts keep copies.
CREATE TABLE user_addresses (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT user_addresses_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL DEFAULT '',
    street text NOT NULL DEFAULT '',
    number text NOT NULL DEFAULT '',
    complement text NOT NULL DEFAULT '',
    district text NOT NULL DEFAULT '',
    city text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT '',
    zipcode text NOT NULL DEFAULT '',
    country text NOT NULL DEFAULT 'BR' CONSTRAINT user_addresses_country_code CHECK (country COLLATE "C" ~ '^[A-Z]{2}$'),
    phone text NOT NULL DEFAULT '',
    is_default_shipping boolean NOT NULL DEFAULT false,
    is_default_billing boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT user_addresses_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT user_addresses_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT user_addresses_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX user_addresses_user_idx ON user_addresses (tenant_id, user_id, id);
CREATE UNIQUE INDEX user_addresses_shipping_key ON user_addresses (tenant_id, user_id) WHERE is_default_shipping;
CREATE UNIQUE INDEX user_addresses_billing_key ON user_addresses (tenant_id, user_id) WHERE is_default_billing;
SELECT vitrine_keep_apart('user_addresses');
