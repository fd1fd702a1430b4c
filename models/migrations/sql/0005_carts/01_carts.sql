CREATE TABLE carts (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT carts_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- Version 4: whoever knows it may open the cart.
    public_id uuid NOT NULL,
    user_id bigint,
    status text NOT NULL DEFAULT 'open' CONSTRAINT carts_status_known CHECK (status IN ('open', 'ordered', 'expired')),
    currency text NOT NULL DEFAULT 'BRL'
        CONSTRAINT carts_currency_code CHECK (currency COLLATE "C" ~ '^[A-Z]{3}$'),
    customer_email text NOT NULL DEFAULT ''
        CONSTRAINT carts_customer_email_length CHECK (char_length(customer_email) <= 254),
    address jsonb CONSTRAINT carts_address_object CHECK (jsonb_typeof(address) = 'object'),
    shipping_method_id bigint,
    coupon_code text NOT NULL DEFAULT '' CONSTRAINT carts_coupon_code_length CHECK (char_length(coupon_code) <= 64),
    subtotal_cents bigint NOT NULL DEFAULT 0 CONSTRAINT carts_subtotal_not_negative CHECK (subtotal_cents >= 0),
    discount_cents bigint NOT NULL DEFAULT 0 CONSTRAINT carts_discount_not_negative CHECK (discount_cents >= 0),
    shipping_cents bigint NOT NULL DEFAULT 0 CONSTRAINT carts_shipping_not_negative CHECK (shipping_cents >= 0),
    total_cents bigint NOT NULL DEFAULT 0 CONSTRAINT carts_total_not_negative CHECK (total_cents >= 0),
    order_id bigint,
    content_hash bytea CONSTRAINT carts_content_hash_sha256 CHECK (octet_length(content_hash) = 32),
    ordered_at timestamptz,
    told_at timestamptz,
    is_untold boolean NOT NULL DEFAULT false,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT carts_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT carts_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT carts_order_has_moment CHECK ((status = 'ordered') = (ordered_at IS NOT NULL)),
    CONSTRAINT carts_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT carts_shipping_method_fkey FOREIGN KEY (tenant_id, shipping_method_id)
        REFERENCES shipping_methods (tenant_id, id) ON DELETE SET NULL (shipping_method_id),
    CONSTRAINT carts_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE SET NULL (order_id)
);
CREATE INDEX carts_user_idx ON carts (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX carts_shipping_method_idx ON carts (tenant_id, shipping_method_id) WHERE shipping_method_id IS NOT NULL;
CREATE INDEX carts_order_idx ON carts (tenant_id, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX carts_email_idx ON carts (tenant_id, customer_email) WHERE customer_email <> '';
-- Whether the same was ordered a moment ago.
CREATE INDEX carts_content_idx ON carts (tenant_id, content_hash, ordered_at) WHERE content_hash IS NOT NULL;
-- Whether carts are old enough to be forgotten.
CREATE INDEX carts_updated_idx ON carts (tenant_id, updated_at);
-- Across stores: the jobs that end carts and tell of their changes look for what is due.
CREATE INDEX carts_expiry_idx ON carts (expires_at) WHERE status = 'open';
CREATE INDEX carts_untold_idx ON carts (told_at) WHERE is_untold;

CREATE TABLE cart_items (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT cart_items_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    cart_id bigint NOT NULL,
    product_id bigint NOT NULL,
    quantity bigint NOT NULL CONSTRAINT cart_items_quantity_range CHECK (quantity BETWEEN 1 AND 1000000000),
    options jsonb NOT NULL DEFAULT '[]' CONSTRAINT cart_items_options_array CHECK (jsonb_typeof(options) = 'array'),
    options_key text NOT NULL DEFAULT '' CONSTRAINT cart_items_options_key_length CHECK (char_length(options_key) <= 1000),
    product_name text NOT NULL DEFAULT '',
    price_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT cart_items_price_range CHECK (price_cents BETWEEN 0 AND 1000000000000000),
    CONSTRAINT cart_items_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT cart_items_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT cart_items_choice_key UNIQUE (tenant_id, cart_id, product_id, options_key),
    CONSTRAINT cart_items_cart_fkey FOREIGN KEY (tenant_id, cart_id) REFERENCES carts (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT cart_items_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX cart_items_product_idx ON cart_items (tenant_id, product_id);

SELECT vitrine_keep_apart('carts');
SELECT vitrine_keep_apart('cart_items');
