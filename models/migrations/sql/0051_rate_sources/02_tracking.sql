-- The printable label of a shipment, and what its carrier reported on the way.
ALTER TABLE shipments
    ADD COLUMN label_url text NOT NULL DEFAULT '' CONSTRAINT shipments_label_url_length CHECK (char_length(label_url) <= 2048);
CREATE TABLE tracking_events (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT tracking_events_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    shipment_id bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    code text NOT NULL DEFAULT '' CONSTRAINT tracking_events_code_length CHECK (char_length(code) <= 64),
    description text NOT NULL CONSTRAINT tracking_events_description_length CHECK (char_length(description) BETWEEN 1 AND 255),
    location text NOT NULL DEFAULT '' CONSTRAINT tracking_events_location_length CHECK (char_length(location) <= 255),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tracking_events_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT tracking_events_public_id_key UNIQUE (tenant_id, public_id),
    -- An event that is reported again is the same.
    CONSTRAINT tracking_events_moment_key UNIQUE (tenant_id, shipment_id, occurred_at, code, description),
    CONSTRAINT tracking_events_shipment_fkey FOREIGN KEY (tenant_id, shipment_id)
        REFERENCES shipments (tenant_id, id) ON DELETE CASCADE
);
SELECT vitrine_keep_apart('tracking_events');
