-- Mails about orders that a worker has still to write: which mail, and what it says of its moment. A version before it writes none here, and its
-- workers leave them to the workers of this one.
CREATE TABLE order_mails (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_mails_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    order_id bigint NOT NULL,
    kind text NOT NULL CONSTRAINT order_mails_kind_length CHECK (char_length(kind) BETWEEN 1 AND 60),
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT order_mails_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_mails_order_fkey FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX order_mails_order_idx ON order_mails (tenant_id, order_id);
ALTER TABLE order_mails SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
SELECT vitrine_keep_apart('order_mails');
