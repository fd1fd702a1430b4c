-- Where orders go, what the way there costs, and what makes an order cheaper or dearer besides.

CREATE TABLE destinations (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT destinations_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'A' CONSTRAINT destinations_status_known CHECK (status IN ('A', 'D')),
    countries text[] NOT NULL DEFAULT '{}',
    states text[] NOT NULL DEFAULT '{}',
    cities text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT destinations_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT destinations_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX destinations_name_idx ON destinations (tenant_id, name, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('destinations');

CREATE TABLE destination_zipcodes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT destination_zipcodes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    destination_id bigint NOT NULL,
    zipcode_from text COLLATE "C" NOT NULL CONSTRAINT destination_zipcodes_from_digits CHECK (zipcode_from ~ '^[0-9]{8}$'),
    zipcode_to text COLLATE "C" NOT NULL CONSTRAINT destination_zipcodes_to_digits CHECK (zipcode_to ~ '^[0-9]{8}$'),
    CONSTRAINT destination_zipcodes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT destination_zipcodes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT destination_zipcodes_order CHECK (zipcode_from <= zipcode_to),
    CONSTRAINT destination_zipcodes_destination_fkey FOREIGN KEY (tenant_id, destination_id)
        REFERENCES destinations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX destination_zipcodes_destination_idx ON destination_zipcodes (tenant_id, destination_id, zipcode_from, id);
SELECT vitrine_keep_apart('destination_zipcodes');

CREATE TABLE shipping_rates (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT shipping_rates_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    shipping_method_id bigint NOT NULL,
    destination_id bigint NOT NULL,
    base_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_rates_base_range CHECK (base_cents BETWEEN 0 AND 1000000000000000),
    per_kg_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_rates_per_kg_range CHECK (per_kg_cents BETWEEN 0 AND 1000000000000000),
    per_item_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_rates_per_item_range CHECK (per_item_cents BETWEEN 0 AND 1000000000000000),
    max_weight_grams bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_rates_max_weight_not_negative CHECK (max_weight_grams >= 0),
    CONSTRAINT shipping_rates_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT shipping_rates_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT shipping_rates_destination_key UNIQUE (tenant_id, shipping_method_id, destination_id),
    CONSTRAINT shipping_rates_shipping_method_fkey FOREIGN KEY (tenant_id, shipping_method_id)
        REFERENCES shipping_methods (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT shipping_rates_destination_fkey FOREIGN KEY (tenant_id, destination_id)
        REFERENCES destinations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX shipping_rates_destination_idx ON shipping_rates (tenant_id, destination_id);
SELECT vitrine_keep_apart('shipping_rates');

-- What a realtime calculator needs to know, as CS-Cart's `service`.
ALTER TABLE shipping_methods ADD COLUMN service jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT shipping_methods_service_object CHECK (jsonb_typeof(service) = 'object');
