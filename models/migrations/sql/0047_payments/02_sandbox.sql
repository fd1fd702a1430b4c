-- The charges of the gateway `sandbox`, which all processes share. `details` are what its answers say of the code, the boleto, the card or
-- the failure; `done` the idempotency keys of what was done with it.
CREATE TABLE sandbox_charges (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT sandbox_charges_tenant_fkey REFERENCES tenants (id),
    charge_id text NOT NULL,
    payment_id uuid NOT NULL,
    order_id uuid NOT NULL,
    order_number bigint NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    currency text NOT NULL,
    amount_cents bigint NOT NULL CONSTRAINT sandbox_charges_amount_positive CHECK (amount_cents > 0),
    paid_cents bigint NOT NULL DEFAULT 0,
    refunded_cents bigint NOT NULL DEFAULT 0,
    installments integer NOT NULL DEFAULT 1,
    details jsonb NOT NULL DEFAULT '{}',
    done text[] NOT NULL DEFAULT '{}',
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sandbox_charges_pkey PRIMARY KEY (tenant_id, charge_id),
    CONSTRAINT sandbox_charges_payment_key UNIQUE (tenant_id, payment_id),
    CONSTRAINT sandbox_charges_refunds_paid CHECK (refunded_cents BETWEEN 0 AND paid_cents)
);
CREATE INDEX sandbox_charges_created_idx ON sandbox_charges (tenant_id, created_at);
SELECT vitrine_keep_apart('sandbox_charges');
