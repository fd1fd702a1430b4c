-- Money received and parcels sent. RESTRICT: an order that has either is never removed.

CREATE TABLE payments (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT payments_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    sequence integer NOT NULL DEFAULT 1,
    kind text NOT NULL DEFAULT '',
    installments integer NOT NULL DEFAULT 1 CONSTRAINT payments_installments_not_negative CHECK (installments >= 0),
    amount_cents bigint NOT NULL CONSTRAINT payments_amount_not_negative CHECK (amount_cents >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payments_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT payments_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT payments_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX payments_order_idx ON payments (tenant_id, order_id, sequence, id);
CREATE INDEX payments_created_idx ON payments (tenant_id, created_at, id);

CREATE TABLE shipments (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT shipments_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    shipping_method_id bigint,
    user_id bigint,
    shipping_name text NOT NULL DEFAULT '',
    carrier text NOT NULL DEFAULT '',
    tracking_number text NOT NULL DEFAULT '',
    comments text NOT NULL DEFAULT '',
    group_key text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'S' CONSTRAINT shipments_status_known CHECK (status IN ('P', 'A', 'S')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT shipments_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT shipments_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT shipments_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT shipments_shipping_method_fkey FOREIGN KEY (tenant_id, shipping_method_id)
        REFERENCES shipping_methods (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT shipments_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE SET NULL (user_id)
);
CREATE INDEX shipments_order_idx ON shipments (tenant_id, order_id, id);
CREATE INDEX shipments_created_idx ON shipments (tenant_id, created_at, id);
CREATE INDEX shipments_shipping_method_idx ON shipments (tenant_id, shipping_method_id);
CREATE INDEX shipments_user_idx ON shipments (tenant_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE shipment_lines (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT shipment_lines_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    shipment_id bigint NOT NULL,
    order_line_id bigint NOT NULL,
    quantity bigint NOT NULL CONSTRAINT shipment_lines_quantity_positive CHECK (quantity > 0),
    CONSTRAINT shipment_lines_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT shipment_lines_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT shipment_lines_shipment_fkey FOREIGN KEY (tenant_id, shipment_id)
        REFERENCES shipments (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT shipment_lines_order_line_fkey FOREIGN KEY (tenant_id, order_line_id)
        REFERENCES order_lines (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX shipment_lines_shipment_idx ON shipment_lines (tenant_id, shipment_id, id);
CREATE INDEX shipment_lines_order_line_idx ON shipment_lines (tenant_id, order_line_id);
