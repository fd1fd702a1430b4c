-- What the payment gateway told, as it was sent, and the charges it told of.

CREATE TABLE charges (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT charges_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    charge_id text NOT NULL CONSTRAINT charges_charge_id_length CHECK (char_length(charge_id) BETWEEN 1 AND 255),
    order_id bigint,
    status text NOT NULL DEFAULT '',
    last_event text NOT NULL DEFAULT '',
    payment_method text NOT NULL DEFAULT '',
    currency text NOT NULL DEFAULT '',
    amount_cents bigint NOT NULL DEFAULT 0 CONSTRAINT charges_amount_not_negative CHECK (amount_cents >= 0),
    paid_cents bigint NOT NULL DEFAULT 0 CONSTRAINT charges_paid_not_negative CHECK (paid_cents >= 0),
    refunded_cents bigint NOT NULL DEFAULT 0 CONSTRAINT charges_refunded_not_negative CHECK (refunded_cents >= 0),
    counted boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT charges_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT charges_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT charges_charge_id_key UNIQUE (tenant_id, charge_id),
    CONSTRAINT charges_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX charges_order_idx ON charges (tenant_id, order_id, id) WHERE order_id IS NOT NULL;

CREATE TABLE gateway_notifications (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT gateway_notifications_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    event_id text NOT NULL DEFAULT '' CONSTRAINT gateway_notifications_event_id_length CHECK (char_length(event_id) <= 255),
    event_type text NOT NULL DEFAULT ''
        CONSTRAINT gateway_notifications_event_type_length CHECK (char_length(event_type) <= 255),
    charge_id text CONSTRAINT gateway_notifications_charge_id_length CHECK (char_length(charge_id) BETWEEN 1 AND 255),
    -- A hash of what tells one notification from another, however long a gateway's ids may be (domain/gateway/notification.py).
    fingerprint bytea NOT NULL CONSTRAINT gateway_notifications_fingerprint_sha256 CHECK (octet_length(fingerprint) = 32),
    body bytea NOT NULL,
    unsigned boolean NOT NULL DEFAULT false,
    processed boolean NOT NULL DEFAULT false,
    error_message text NOT NULL DEFAULT '',
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    processed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT gateway_notifications_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT gateway_notifications_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT gateway_notifications_fingerprint_key UNIQUE (tenant_id, fingerprint)
);
CREATE INDEX gateway_notifications_created_idx ON gateway_notifications (tenant_id, created_at, id);
-- Across stores: what was stored and not applied, which is nothing nearly always.
CREATE INDEX gateway_notifications_pending_idx ON gateway_notifications (tenant_id, id) WHERE NOT processed;
