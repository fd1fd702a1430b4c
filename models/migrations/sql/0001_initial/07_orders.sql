-- Ways to pay and to deliver, orders, what they hold and what became of them.

CREATE TABLE payment_methods (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT payment_methods_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    vendor_id bigint,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    instructions text NOT NULL DEFAULT '',
    processor text NOT NULL DEFAULT 'offline',
    processor_params bytea,
    surcharge_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT payment_methods_surcharge_range CHECK (surcharge_cents BETWEEN 0 AND 1000000000000000),
    surcharge_percent bigint NOT NULL DEFAULT 0
        CONSTRAINT payment_methods_surcharge_percent_not_negative CHECK (surcharge_percent >= 0),
    settles_at_once boolean NOT NULL DEFAULT false,
    hold_minutes integer NOT NULL DEFAULT 4320
        CONSTRAINT payment_methods_hold_minutes_not_negative CHECK (hold_minutes >= 0),
    position integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'A' CONSTRAINT payment_methods_status_known CHECK (status IN ('A', 'D', 'H')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT payment_methods_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT payment_methods_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT payment_methods_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX payment_methods_vendor_idx ON payment_methods (tenant_id, vendor_id);
CREATE INDEX payment_methods_position_idx ON payment_methods (tenant_id, position, id) WHERE deleted_at IS NULL;

CREATE TABLE shipping_methods (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT shipping_methods_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    vendor_id bigint,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    delivery_time text NOT NULL DEFAULT '',
    rate_calculation text NOT NULL DEFAULT 'M'
        CONSTRAINT shipping_methods_rate_calculation_known CHECK (rate_calculation IN ('M', 'R')),
    min_weight_grams bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_methods_min_weight_not_negative CHECK (min_weight_grams >= 0),
    max_weight_grams bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_methods_max_weight_not_negative CHECK (max_weight_grams >= 0),
    base_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_methods_base_range CHECK (base_cents BETWEEN 0 AND 1000000000000000),
    per_kg_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_methods_per_kg_range CHECK (per_kg_cents BETWEEN 0 AND 1000000000000000),
    per_item_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT shipping_methods_per_item_range CHECK (per_item_cents BETWEEN 0 AND 1000000000000000),
    free_from_cents bigint
        CONSTRAINT shipping_methods_free_from_range CHECK (free_from_cents BETWEEN 0 AND 1000000000000000),
    position integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'A' CONSTRAINT shipping_methods_status_known CHECK (status IN ('A', 'D', 'H')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT shipping_methods_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT shipping_methods_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT shipping_methods_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX shipping_methods_vendor_idx ON shipping_methods (tenant_id, vendor_id);
CREATE INDEX shipping_methods_position_idx ON shipping_methods (tenant_id, position, id) WHERE deleted_at IS NULL;

CREATE TABLE orders (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT orders_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint,
    vendor_id bigint,
    -- Any capital: a store may define letters of its own.
    status text NOT NULL DEFAULT 'O' CONSTRAINT orders_status_letter CHECK (status COLLATE "C" ~ '^[A-Z]$'),
    stock_state text NOT NULL DEFAULT 'N' CONSTRAINT orders_stock_state_known CHECK (stock_state IN ('R', 'D', 'N')),
    origin text NOT NULL DEFAULT 'admin',
    currency text NOT NULL DEFAULT 'BRL'
        CONSTRAINT orders_currency_code CHECK (currency COLLATE "C" ~ '^[A-Z]{3}$'),
    subtotal_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_subtotal_not_negative CHECK (subtotal_cents >= 0),
    discount_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_discount_not_negative CHECK (discount_cents >= 0),
    shipping_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_shipping_not_negative CHECK (shipping_cents >= 0),
    surcharge_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_surcharge_not_negative CHECK (surcharge_cents >= 0),
    tax_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_tax_not_negative CHECK (tax_cents >= 0),
    total_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_total_not_negative CHECK (total_cents >= 0),
    paid_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_paid_not_negative CHECK (paid_cents >= 0),
    refunded_cents bigint NOT NULL DEFAULT 0 CONSTRAINT orders_refunded_not_negative CHECK (refunded_cents >= 0),
    payment_status text NOT NULL DEFAULT 'unpaid' CONSTRAINT orders_payment_status_known
        CHECK (payment_status IN ('unpaid', 'paid', 'partially_refunded', 'refunded', 'chargeback')),
    payment_method_id bigint,
    shipping_method_id bigint,
    tracking_code text,
    email text NOT NULL DEFAULT '' CONSTRAINT orders_email_length CHECK (char_length(email) <= 320),
    firstname text NOT NULL DEFAULT '',
    lastname text NOT NULL DEFAULT '',
    -- Cut, because an index holds at most 2,700 bytes a row.
    customer_folded text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS ("left"(vitrine_fold("left"(firstname || ' ' || lastname, 200)), 200)) STORED,
    phone text NOT NULL DEFAULT '',
    notes text NOT NULL DEFAULT '',
    details text NOT NULL DEFAULT '',
    ip_address text NOT NULL DEFAULT '',
    fields_data jsonb NOT NULL DEFAULT '{}' CONSTRAINT orders_fields_data_object CHECK (jsonb_typeof(fields_data) = 'object'),
    imported boolean NOT NULL DEFAULT false,
    hold_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT orders_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT orders_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT orders_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT orders_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT orders_payment_method_fkey FOREIGN KEY (tenant_id, payment_method_id)
        REFERENCES payment_methods (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT orders_shipping_method_fkey FOREIGN KEY (tenant_id, shipping_method_id)
        REFERENCES shipping_methods (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX orders_created_idx ON orders (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_updated_idx ON orders (tenant_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_status_idx ON orders (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_total_idx ON orders (tenant_id, total_cents, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_email_idx ON orders (tenant_id, email, id) WHERE deleted_at IS NULL;
-- Search looks for a part of the name, which no order helps with: it reads this from end to end, a tenth of what the rows are.
CREATE INDEX orders_search_idx ON orders (tenant_id, customer_folded, id) INCLUDE (email, tracking_code) WHERE deleted_at IS NULL;
CREATE INDEX orders_user_idx ON orders (tenant_id, user_id, id);
CREATE INDEX orders_vendor_idx ON orders (tenant_id, vendor_id, id);
CREATE INDEX orders_payment_method_idx ON orders (tenant_id, payment_method_id);
CREATE INDEX orders_shipping_method_idx ON orders (tenant_id, shipping_method_id);
-- Across stores: the job that ends unpaid checkouts looks for what is due.
CREATE INDEX orders_hold_idx ON orders (hold_until) WHERE hold_until IS NOT NULL;

CREATE TABLE order_lines (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_lines_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    position integer NOT NULL CONSTRAINT order_lines_position_positive CHECK (position > 0),
    product_id bigint,
    vendor_id bigint,
    product_name text NOT NULL,
    product_code text NOT NULL DEFAULT '',
    quantity bigint NOT NULL CONSTRAINT order_lines_quantity_positive CHECK (quantity > 0),
    price_cents bigint NOT NULL
        CONSTRAINT order_lines_price_range CHECK (price_cents BETWEEN 0 AND 1000000000000000),
    base_price_cents bigint NOT NULL
        CONSTRAINT order_lines_base_price_range CHECK (base_price_cents BETWEEN 0 AND 1000000000000000),
    shipping_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT order_lines_shipping_range CHECK (shipping_cents BETWEEN 0 AND 1000000000000000),
    weight_grams bigint NOT NULL DEFAULT 0 CONSTRAINT order_lines_weight_not_negative CHECK (weight_grams >= 0),
    tracked boolean NOT NULL DEFAULT true,
    extra jsonb NOT NULL DEFAULT '{}' CONSTRAINT order_lines_extra_object CHECK (jsonb_typeof(extra) = 'object'),
    CONSTRAINT order_lines_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_lines_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT order_lines_position_key UNIQUE (tenant_id, order_id, position),
    CONSTRAINT order_lines_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT order_lines_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT order_lines_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX order_lines_product_idx ON order_lines (tenant_id, product_id, order_id);
CREATE INDEX order_lines_vendor_idx ON order_lines (tenant_id, vendor_id, order_id);

CREATE TABLE order_addresses (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_addresses_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    kind text NOT NULL CONSTRAINT order_addresses_kind_known CHECK (kind IN ('B', 'S')),
    firstname text NOT NULL DEFAULT '',
    lastname text NOT NULL DEFAULT '',
    street text NOT NULL DEFAULT '',
    number text NOT NULL DEFAULT '',
    complement text NOT NULL DEFAULT '',
    district text NOT NULL DEFAULT '',
    city text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT '',
    country text NOT NULL DEFAULT 'BR',
    zipcode text NOT NULL DEFAULT '',
    phone text NOT NULL DEFAULT '',
    CONSTRAINT order_addresses_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_addresses_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT order_addresses_kind_key UNIQUE (tenant_id, order_id, kind),
    CONSTRAINT order_addresses_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE order_status_changes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_status_changes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    order_id bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    from_status text NOT NULL DEFAULT ''
        CONSTRAINT order_status_changes_from_letter CHECK (from_status COLLATE "C" ~ '^[A-Z]?$'),
    to_status text NOT NULL
        CONSTRAINT order_status_changes_to_letter CHECK (to_status COLLATE "C" ~ '^[A-Z]$'),
    forced boolean NOT NULL DEFAULT false,
    reason text NOT NULL DEFAULT '',
    actor_kind text NOT NULL DEFAULT 'system',
    user_id bigint,
    app_id bigint,
    CONSTRAINT order_status_changes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_status_changes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT order_status_changes_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE CASCADE,
    -- What happened stays when who did it is erased.
    CONSTRAINT order_status_changes_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE SET NULL (user_id)
);
CREATE INDEX order_status_changes_order_idx ON order_status_changes (tenant_id, order_id, id);
CREATE INDEX order_status_changes_user_idx ON order_status_changes (tenant_id, user_id) WHERE user_id IS NOT NULL;
