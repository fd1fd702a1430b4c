-- Selling to companies: who looks after them, on what terms they pay, what they may owe and what they are worth.

-- The balance is the sum of the manager's transactions, kept with each of them.
CREATE TABLE managers (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT managers_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint,
    name text NOT NULL,
    email text NOT NULL,
    phone text NOT NULL DEFAULT '',
    -- Hundredths of a percent.
    commission_percent bigint NOT NULL DEFAULT 0
        CONSTRAINT managers_commission_percent_range CHECK (commission_percent BETWEEN 0 AND 10000),
    balance_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT managers_balance_range CHECK (balance_cents BETWEEN -1000000000000000 AND 1000000000000000),
    status text NOT NULL DEFAULT 'A' CONSTRAINT managers_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT managers_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT managers_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT managers_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE SET NULL (user_id)
);
CREATE INDEX managers_name_idx ON managers (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX managers_email_idx ON managers (tenant_id, email, id) WHERE deleted_at IS NULL;
CREATE INDEX managers_created_idx ON managers (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX managers_status_idx ON managers (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX managers_user_idx ON managers (tenant_id, user_id) WHERE user_id IS NOT NULL;
SELECT vitrine_keep_apart('managers');

CREATE TABLE payment_codes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT payment_codes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    code text NOT NULL,
    description text NOT NULL DEFAULT '',
    installments integer NOT NULL DEFAULT 1 CONSTRAINT payment_codes_installments_positive CHECK (installments > 0),
    -- Days from the invoice to each payment.
    days bigint[] NOT NULL DEFAULT '{}',
    min_amount_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT payment_codes_min_amount_range CHECK (min_amount_cents BETWEEN 0 AND 1000000000000000),
    status text NOT NULL DEFAULT 'A' CONSTRAINT payment_codes_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT payment_codes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT payment_codes_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE UNIQUE INDEX payment_codes_code_key ON payment_codes (tenant_id, code) WHERE deleted_at IS NULL;
CREATE INDEX payment_codes_created_idx ON payment_codes (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX payment_codes_status_idx ON payment_codes (tenant_id, status, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('payment_codes');

CREATE TABLE business_partners (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT business_partners_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    payment_code_id bigint,
    manager_id bigint,
    name text NOT NULL,
    cnpj text NOT NULL,
    email text NOT NULL DEFAULT '',
    phone text NOT NULL DEFAULT '',
    contact_name text NOT NULL DEFAULT '',
    credit_limit_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT business_partners_credit_limit_range CHECK (credit_limit_cents BETWEEN 0 AND 1000000000000000),
    status text NOT NULL DEFAULT 'A' CONSTRAINT business_partners_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT business_partners_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT business_partners_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT business_partners_payment_code_fkey FOREIGN KEY (tenant_id, payment_code_id)
        REFERENCES payment_codes (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT business_partners_manager_fkey FOREIGN KEY (tenant_id, manager_id)
        REFERENCES managers (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX business_partners_name_idx ON business_partners (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX business_partners_cnpj_idx ON business_partners (tenant_id, cnpj, id) WHERE deleted_at IS NULL;
CREATE INDEX business_partners_email_idx ON business_partners (tenant_id, email, id) WHERE deleted_at IS NULL;
CREATE INDEX business_partners_created_idx ON business_partners (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX business_partners_status_idx ON business_partners (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX business_partners_payment_code_idx ON business_partners (tenant_id, payment_code_id, id);
CREATE INDEX business_partners_manager_idx ON business_partners (tenant_id, manager_id, id);
SELECT vitrine_keep_apart('business_partners');

CREATE TABLE mix_products (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT mix_products_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    partner_id bigint,
    manager_id bigint,
    min_quantity bigint NOT NULL DEFAULT 0 CONSTRAINT mix_products_min_quantity_not_negative CHECK (min_quantity >= 0),
    price_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT mix_products_price_range CHECK (price_cents BETWEEN 0 AND 1000000000000000),
    status text NOT NULL DEFAULT 'A' CONSTRAINT mix_products_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT mix_products_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT mix_products_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT mix_products_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT mix_products_partner_fkey FOREIGN KEY (tenant_id, partner_id)
        REFERENCES business_partners (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT mix_products_manager_fkey FOREIGN KEY (tenant_id, manager_id)
        REFERENCES managers (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX mix_products_product_idx ON mix_products (tenant_id, product_id, id);
CREATE INDEX mix_products_partner_idx ON mix_products (tenant_id, partner_id, id);
CREATE INDEX mix_products_manager_idx ON mix_products (tenant_id, manager_id, id);
CREATE INDEX mix_products_created_idx ON mix_products (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX mix_products_status_idx ON mix_products (tenant_id, status, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('mix_products');

CREATE TABLE manager_transactions (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT manager_transactions_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    manager_id bigint NOT NULL,
    order_id bigint,
    type text NOT NULL CONSTRAINT manager_transactions_type_known CHECK (type IN ('C', 'D')),
    amount_cents bigint NOT NULL
        CONSTRAINT manager_transactions_amount_range CHECK (amount_cents BETWEEN 1 AND 1000000000000000),
    balance_cents bigint NOT NULL,
    description text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT manager_transactions_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT manager_transactions_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT manager_transactions_manager_fkey FOREIGN KEY (tenant_id, manager_id)
        REFERENCES managers (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT manager_transactions_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX manager_transactions_manager_idx ON manager_transactions (tenant_id, manager_id, id);
CREATE INDEX manager_transactions_order_idx ON manager_transactions (tenant_id, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX manager_transactions_created_idx ON manager_transactions (tenant_id, created_at, id);
CREATE INDEX manager_transactions_amount_idx ON manager_transactions (tenant_id, amount_cents, id);
SELECT vitrine_keep_apart('manager_transactions');

CREATE TABLE order_limits (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_limits_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    vendor_id bigint NOT NULL,
    limit_cents bigint NOT NULL
        CONSTRAINT order_limits_limit_range CHECK (limit_cents BETWEEN 0 AND 1000000000000000),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT order_limits_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_limits_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT order_limits_buyer_key UNIQUE (tenant_id, user_id, vendor_id),
    CONSTRAINT order_limits_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT order_limits_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX order_limits_vendor_idx ON order_limits (tenant_id, vendor_id, id);
CREATE INDEX order_limits_created_idx ON order_limits (tenant_id, created_at, id);
SELECT vitrine_keep_apart('order_limits');

-- What the bureau said of a company last.
CREATE TABLE credit_checks (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT credit_checks_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    cnpj text NOT NULL,
    score integer NOT NULL CONSTRAINT credit_checks_score_range CHECK (score BETWEEN 0 AND 1000),
    risk text NOT NULL CONSTRAINT credit_checks_risk_known CHECK (risk IN ('low', 'medium', 'high')),
    limit_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT credit_checks_limit_range CHECK (limit_cents BETWEEN 0 AND 1000000000000000),
    source text NOT NULL,
    -- Whom was asked: an answer of another bureau is none of this one's.
    bureau_url text NOT NULL,
    checked_at timestamptz NOT NULL,
    CONSTRAINT credit_checks_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT credit_checks_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT credit_checks_cnpj_key UNIQUE (tenant_id, cnpj)
);
SELECT vitrine_keep_apart('credit_checks');
