-- What the platform tells people, and when a shipment's client says that the order was placed.

CREATE TABLE notifications (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT notifications_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    type text NOT NULL CONSTRAINT notifications_type_length CHECK (char_length(type) BETWEEN 1 AND 60),
    title text NOT NULL,
    message text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    read_at timestamptz,
    CONSTRAINT notifications_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT notifications_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT notifications_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX notifications_user_idx ON notifications (tenant_id, user_id, created_at, id);
CREATE INDEX notifications_created_idx ON notifications (tenant_id, created_at, id);
CREATE INDEX notifications_unread_idx ON notifications (tenant_id, user_id) WHERE read_at IS NULL;
SELECT vitrine_keep_apart('notifications');

ALTER TABLE shipments ADD COLUMN order_placed_at timestamptz;
