-- Payments that a gateway is asked for, besides those that were reported, which are PAID and have no gateway. Amounts in cents.
ALTER TABLE payments
    ADD COLUMN status text NOT NULL DEFAULT 'PAID',
    ADD COLUMN currency text NOT NULL DEFAULT '',
    ADD COLUMN gateway text NOT NULL DEFAULT '',
    ADD COLUMN gateway_charge_id text,
    ADD COLUMN payment_method_id bigint,
    -- What the order costs more because of the instalments: part of the amount, and of the order's surcharge while the payment counts.
    ADD COLUMN surcharge_cents bigint NOT NULL DEFAULT 0,
    -- What arrived, once it did; null in reported payments, where it is the amount.
    ADD COLUMN paid_cents bigint,
    ADD COLUMN refunded_cents bigint NOT NULL DEFAULT 0,
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN paid_at timestamptz,
    ADD COLUMN failure jsonb,
    ADD COLUMN pix jsonb,
    ADD COLUMN boleto jsonb,
    ADD COLUMN card jsonb,
    -- A hash of credential and Idempotency-Key of the request that made it: repeated, it gets this payment.
    ADD COLUMN creation_hash bytea,
    -- Since when a call of the gateway is or was under way, and when a worker asks it next; the number of its questions.
    ADD COLUMN attempted_at timestamptz,
    ADD COLUMN due_at timestamptz,
    ADD COLUMN attempts integer NOT NULL DEFAULT 0,
    -- The shop wants it cancelled: what the gateway says of that is no news about the order.
    ADD COLUMN cancel_requested_at timestamptz,
    -- The reported payments that exist fulfil all of this.
    ADD CONSTRAINT payments_status_known CHECK (status IN ('PENDING', 'AUTHORIZED', 'PAID', 'FAILED', 'CANCELLED', 'EXPIRED',
        'REFUNDED', 'PARTIALLY_REFUNDED', 'DISPUTED')) NOT VALID,
    ADD CONSTRAINT payments_amounts_not_negative
        CHECK (surcharge_cents >= 0 AND coalesce(paid_cents, 0) >= 0 AND refunded_cents >= 0) NOT VALID,
    ADD CONSTRAINT payments_charge_length CHECK (char_length(gateway_charge_id) BETWEEN 1 AND 255) NOT VALID,
    ADD CONSTRAINT payments_payment_method_fkey FOREIGN KEY (tenant_id, payment_method_id)
        REFERENCES payment_methods (tenant_id, id) ON DELETE RESTRICT NOT VALID;
-- At most one payment of an order can still be paid.
CREATE UNIQUE INDEX payments_live_key ON payments (tenant_id, order_id) WHERE status IN ('PENDING', 'AUTHORIZED');
-- A charge that was reported may have been received in parts.
CREATE UNIQUE INDEX payments_charge_key ON payments (tenant_id, gateway_charge_id) WHERE gateway <> '';
CREATE UNIQUE INDEX payments_creation_hash_key ON payments (tenant_id, creation_hash) WHERE creation_hash IS NOT NULL;
CREATE INDEX payments_due_idx ON payments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX payments_payment_method_idx ON payments (tenant_id, payment_method_id) WHERE payment_method_id IS NOT NULL;

-- How the payments of a method are made: PIX, BOLETO or CARD through the gateway that its processor names; empty for others.
ALTER TABLE payment_methods ADD COLUMN kind text NOT NULL DEFAULT '',
    ADD CONSTRAINT payment_methods_kind_known CHECK (kind IN ('', 'PIX', 'BOLETO', 'CARD')) NOT VALID;

-- Refunds that a gateway is asked for. The public id is the idempotency key of the call.
CREATE TABLE payment_refunds (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT payment_refunds_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    payment_id bigint NOT NULL,
    amount_cents bigint NOT NULL CONSTRAINT payment_refunds_amount_positive CHECK (amount_cents > 0),
    -- What the payment had been refunded before: at the gateway, amount_cents more shows that this refund was made.
    refunded_before_cents bigint NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'PENDING' CONSTRAINT payment_refunds_status_known CHECK (status IN ('PENDING', 'DONE', 'FAILED')),
    failure jsonb,
    creation_hash bytea,
    attempted_at timestamptz,
    due_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payment_refunds_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT payment_refunds_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT payment_refunds_payment_fkey FOREIGN KEY (tenant_id, payment_id)
        REFERENCES payments (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX payment_refunds_payment_idx ON payment_refunds (tenant_id, payment_id, id);
-- One after the other: what the gateway has refunded shows which of them it made.
CREATE UNIQUE INDEX payment_refunds_pending_key ON payment_refunds (tenant_id, payment_id) WHERE status = 'PENDING';
CREATE UNIQUE INDEX payment_refunds_creation_hash_key ON payment_refunds (tenant_id, creation_hash) WHERE creation_hash IS NOT NULL;
CREATE INDEX payment_refunds_due_idx ON payment_refunds (due_at) WHERE due_at IS NOT NULL;
SELECT vitrine_keep_apart('payment_refunds');
