-- The orders of persons who were erased, whose invoice data the law keeps: erased too after the period `invoices` of VITRINE_RETENTION.
CREATE TABLE invoice_holds (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT invoice_holds_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    placed_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT invoice_holds_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT invoice_holds_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT invoice_holds_order_key UNIQUE (tenant_id, order_id),
    CONSTRAINT invoice_holds_order_fkey FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX invoice_holds_placed_idx ON invoice_holds (tenant_id, placed_at);
SELECT vitrine_keep_apart('invoice_holds');
