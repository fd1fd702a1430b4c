-- Who names the price of a shipping method: its own table, or a source that is asked over the network, whose parameters are encrypted.
ALTER TABLE shipping_methods
    ADD COLUMN rate_source text NOT NULL DEFAULT 'table'
        CONSTRAINT shipping_methods_rate_source_known CHECK (rate_source IN ('table', 'app', 'melhor_envio', 'frenet')),
    ADD COLUMN rate_params bytea,
    -- When the store was last notified that the source fails.
    ADD COLUMN failure_notified_at timestamptz;

-- What a source said of a method, kept for the content of a cart and a CEP, of which `content_key` is a digest. A row without a price says
-- that the source doesn't deliver or, with a failure, that it couldn't be asked.
CREATE TABLE carrier_quotes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT carrier_quotes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL DEFAULT gen_random_uuid(),
    shipping_method_id bigint NOT NULL,
    content_key bytea NOT NULL,
    service text NOT NULL DEFAULT '',
    name text NOT NULL DEFAULT '',
    price_cents bigint CONSTRAINT carrier_quotes_price_range CHECK (price_cents BETWEEN 1 AND 1000000000000000),
    days_min integer NOT NULL DEFAULT 0,
    days_max integer NOT NULL DEFAULT 0,
    failure text NOT NULL DEFAULT '' CONSTRAINT carrier_quotes_failure_length CHECK (char_length(failure) <= 1000),
    quoted_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT carrier_quotes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT carrier_quotes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT carrier_quotes_content_key UNIQUE (tenant_id, shipping_method_id, content_key),
    CONSTRAINT carrier_quotes_method_fkey FOREIGN KEY (tenant_id, shipping_method_id)
        REFERENCES shipping_methods (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX carrier_quotes_expiry_idx ON carrier_quotes (tenant_id, expires_at);
SELECT vitrine_keep_apart('carrier_quotes');

-- The quote that an order was placed with: source, service, price and days; null for prices of a table.
ALTER TABLE orders ADD COLUMN shipping_quote jsonb;
