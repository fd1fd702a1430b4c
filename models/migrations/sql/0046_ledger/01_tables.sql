-- Payouts of what the store owes its vendors. Its number is the store's own (`vitrine_number_by_store`).
CREATE TABLE payouts (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT payouts_tenant_fkey REFERENCES tenants (id),
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    vendor_id bigint NOT NULL,
    amount_cents bigint NOT NULL CONSTRAINT payouts_amount_positive CHECK (amount_cents > 0),
    currency text NOT NULL CONSTRAINT payouts_currency_length CHECK (char_length(currency) = 3),
    status text NOT NULL DEFAULT 'pending' CONSTRAINT payouts_status_known CHECK (status IN ('pending', 'paid', 'cancelled')),
    note text NOT NULL DEFAULT '' CONSTRAINT payouts_note_length CHECK (char_length(note) <= 2000),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    paid_at timestamptz,
    CONSTRAINT payouts_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT payouts_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT payouts_vendor_fkey FOREIGN KEY (tenant_id, vendor_id) REFERENCES vendors (tenant_id, id),
    CONSTRAINT payouts_paid_at CHECK ((status = 'paid') = (paid_at IS NOT NULL))
);
CREATE INDEX payouts_created_idx ON payouts (tenant_id, created_at, id);
CREATE INDEX payouts_vendor_idx ON payouts (tenant_id, vendor_id, created_at, id);
SELECT vitrine_number_by_store('payouts');
SELECT vitrine_keep_apart('payouts');

-- The marketplace's ledger (docs/ledger.md): an account for each vendor, and the store's own (`vendor_id` null). Vendors have no key here: it
-- would lock their rows after those of the stock, against the order in which a vendor is deleted. Their rows stay.
CREATE TABLE ledger_entries (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT ledger_entries_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    vendor_id bigint,
    kind text NOT NULL CONSTRAINT ledger_entries_kind_known CHECK (kind IN (
        'sale', 'commission', 'shipping', 'discount', 'surcharge', 'tax', 'unapplied', 'refund', 'commission_refund', 'adjustment', 'payout'
    )),
    amount_cents bigint NOT NULL CONSTRAINT ledger_entries_amount_not_zero CHECK (amount_cents <> 0),
    order_id bigint,
    payment_id bigint,
    payout_id bigint,
    -- The gateway itself pays this share to the vendor's recipient: no payout includes it.
    is_split boolean NOT NULL DEFAULT false,
    reason text NOT NULL DEFAULT '' CONSTRAINT ledger_entries_reason_length CHECK (char_length(reason) <= 2000),
    available_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ledger_entries_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT ledger_entries_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT ledger_entries_order_fkey FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id),
    CONSTRAINT ledger_entries_payment_fkey FOREIGN KEY (tenant_id, payment_id) REFERENCES payments (tenant_id, id),
    CONSTRAINT ledger_entries_payout_fkey FOREIGN KEY (tenant_id, payout_id) REFERENCES payouts (tenant_id, id),
    CONSTRAINT ledger_entries_origin CHECK (CASE kind
        WHEN 'adjustment' THEN order_id IS NULL AND payout_id IS NULL AND reason <> ''
        WHEN 'payout' THEN order_id IS NULL AND payout_id IS NOT NULL AND vendor_id IS NOT NULL
        ELSE order_id IS NOT NULL AND payout_id IS NULL
    END)
);
-- What a balance reads of a vendor is in the index alone.
CREATE INDEX ledger_entries_vendor_idx ON ledger_entries (tenant_id, vendor_id, created_at, id)
    INCLUDE (available_at, amount_cents, is_split);
CREATE INDEX ledger_entries_created_idx ON ledger_entries (tenant_id, created_at, id);
CREATE INDEX ledger_entries_order_idx ON ledger_entries (tenant_id, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX ledger_entries_payment_idx ON ledger_entries (tenant_id, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX ledger_entries_payout_idx ON ledger_entries (tenant_id, payout_id) WHERE payout_id IS NOT NULL;
SELECT vitrine_keep_apart('ledger_entries');

-- Append-only for every role, the owner included. Only the deletion of a whole store deletes entries: it suspends the store and takes its
-- owner away first, and the role that serves requests can't suspend one.
CREATE FUNCTION vitrine_keep_ledger() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    IF TG_LEVEL = 'ROW' AND TG_OP = 'DELETE' THEN
        PERFORM FROM tenants s WHERE s.id = OLD.tenant_id AND s.status = 'S' AND s.owner_id IS NULL;
        IF FOUND THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'entries of the ledger are neither changed nor deleted; write one that corrects them'
        USING ERRCODE = 'restrict_violation';
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_keep_ledger() FROM PUBLIC;
CREATE TRIGGER keep_ledger BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION vitrine_keep_ledger();
CREATE TRIGGER keep_whole_ledger BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION vitrine_keep_ledger();

-- Where a gateway that divides payments sends a vendor's share.
ALTER TABLE vendors ADD COLUMN recipient_id text NOT NULL DEFAULT ''
    CONSTRAINT vendors_recipient_id_length CHECK (char_length(recipient_id) <= 100);

-- Orders whose ledger is to be compared with their state: written by triggers, and deleted by the transaction that writes the ledger
-- (`domain.ledger.entries`). What is left was changed by a program that knows no ledger; a job writes it.
CREATE TABLE ledger_queue (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT ledger_queue_tenant_fkey REFERENCES tenants (id),
    order_id bigint NOT NULL,
    CONSTRAINT ledger_queue_pkey PRIMARY KEY (tenant_id, order_id)
);
ALTER TABLE ledger_queue SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
SELECT vitrine_keep_apart('ledger_queue');
