-- Taxes, what they lie on, and what each took of an order. A rate is in thousandths: of a percent (`P`) or of the currency's unit (`F`).

CREATE TABLE taxes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT taxes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    regnumber text NOT NULL DEFAULT '',
    address_type text NOT NULL DEFAULT 'S' CONSTRAINT taxes_address_type_known CHECK (address_type IN ('S', 'B')),
    rate_type text NOT NULL DEFAULT 'P' CONSTRAINT taxes_rate_type_known CHECK (rate_type IN ('P', 'F')),
    rate_value bigint NOT NULL DEFAULT 0
        CONSTRAINT taxes_rate_value_range CHECK (rate_value BETWEEN 0 AND 10000000000000000),
    price_includes_tax boolean NOT NULL DEFAULT false,
    priority integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'A' CONSTRAINT taxes_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT taxes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT taxes_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX taxes_priority_idx ON taxes (tenant_id, priority, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('taxes');

CREATE TABLE tax_rates (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT tax_rates_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    tax_id bigint NOT NULL,
    destination_id bigint NOT NULL,
    rate_type text NOT NULL DEFAULT 'P' CONSTRAINT tax_rates_rate_type_known CHECK (rate_type IN ('P', 'F')),
    rate_value bigint NOT NULL DEFAULT 0
        CONSTRAINT tax_rates_rate_value_range CHECK (rate_value BETWEEN 0 AND 10000000000000000),
    CONSTRAINT tax_rates_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT tax_rates_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT tax_rates_destination_key UNIQUE (tenant_id, tax_id, destination_id),
    CONSTRAINT tax_rates_tax_fkey FOREIGN KEY (tenant_id, tax_id)
        REFERENCES taxes (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT tax_rates_destination_fkey FOREIGN KEY (tenant_id, destination_id)
        REFERENCES destinations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX tax_rates_destination_idx ON tax_rates (tenant_id, destination_id);
SELECT vitrine_keep_apart('tax_rates');

CREATE TABLE product_taxes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT product_taxes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    tax_id bigint NOT NULL,
    CONSTRAINT product_taxes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT product_taxes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT product_taxes_tax_key UNIQUE (tenant_id, product_id, tax_id),
    CONSTRAINT product_taxes_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT product_taxes_tax_fkey FOREIGN KEY (tenant_id, tax_id)
        REFERENCES taxes (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX product_taxes_tax_idx ON product_taxes (tenant_id, tax_id);
SELECT vitrine_keep_apart('product_taxes');

CREATE TABLE shipping_method_taxes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT shipping_method_taxes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    shipping_method_id bigint NOT NULL,
    tax_id bigint NOT NULL,
    CONSTRAINT shipping_method_taxes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT shipping_method_taxes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT shipping_method_taxes_tax_key UNIQUE (tenant_id, shipping_method_id, tax_id),
    CONSTRAINT shipping_method_taxes_shipping_method_fkey FOREIGN KEY (tenant_id, shipping_method_id)
        REFERENCES shipping_methods (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT shipping_method_taxes_tax_fkey FOREIGN KEY (tenant_id, tax_id)
        REFERENCES taxes (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX shipping_method_taxes_tax_idx ON shipping_method_taxes (tenant_id, tax_id);
SELECT vitrine_keep_apart('shipping_method_taxes');

CREATE TABLE payment_method_taxes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT payment_method_taxes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    payment_method_id bigint NOT NULL,
    tax_id bigint NOT NULL,
    CONSTRAINT payment_method_taxes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT payment_method_taxes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT payment_method_taxes_tax_key UNIQUE (tenant_id, payment_method_id, tax_id),
    CONSTRAINT payment_method_taxes_payment_method_fkey FOREIGN KEY (tenant_id, payment_method_id)
        REFERENCES payment_methods (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT payment_method_taxes_tax_fkey FOREIGN KEY (tenant_id, tax_id)
        REFERENCES taxes (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX payment_method_taxes_tax_idx ON payment_method_taxes (tenant_id, tax_id);
SELECT vitrine_keep_apart('payment_method_taxes');

CREATE TABLE order_taxes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_taxes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    tax_id bigint,
    name text NOT NULL,
    rate_type text NOT NULL DEFAULT 'P' CONSTRAINT order_taxes_rate_type_known CHECK (rate_type IN ('P', 'F')),
    rate_value bigint NOT NULL DEFAULT 0,
    included boolean NOT NULL DEFAULT false,
    amount_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT order_taxes_amount_range CHECK (amount_cents BETWEEN 0 AND 1000000000000000),
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT order_taxes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_taxes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT order_taxes_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT order_taxes_tax_fkey FOREIGN KEY (tenant_id, tax_id)
        REFERENCES taxes (tenant_id, id) ON DELETE SET NULL (tax_id)
);
CREATE INDEX order_taxes_order_idx ON order_taxes (tenant_id, order_id, position, id);
CREATE INDEX order_taxes_tax_idx ON order_taxes (tenant_id, tax_id) WHERE tax_id IS NOT NULL;
SELECT vitrine_keep_apart('order_taxes');
