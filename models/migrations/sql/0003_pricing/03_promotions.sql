-- Promotions: what they ask, what they give, how often they were used.

CREATE TABLE promotions (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT promotions_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    zone text NOT NULL DEFAULT 'cart' CONSTRAINT promotions_zone_known CHECK (zone IN ('cart', 'catalog')),
    -- As they were given, and as they are decided on (domain/promotions).
    conditions jsonb NOT NULL DEFAULT '{}',
    bonuses jsonb NOT NULL DEFAULT '{}',
    rule jsonb NOT NULL DEFAULT '{}',
    gifts jsonb NOT NULL DEFAULT '[]',
    coupon_code text NOT NULL DEFAULT '',
    -- The one code without which nothing comes of it, folded; empty where there is none, or several.
    coupon_key text NOT NULL DEFAULT '',
    usage_limit bigint NOT NULL DEFAULT 0 CONSTRAINT promotions_usage_limit_not_negative CHECK (usage_limit >= 0),
    -- The least of that and of what the conditions say of the number of usages; 0 for none.
    usage_cap bigint NOT NULL DEFAULT 0 CONSTRAINT promotions_usage_cap_not_negative CHECK (usage_cap >= 0),
    used bigint NOT NULL DEFAULT 0 CONSTRAINT promotions_used_not_negative CHECK (used >= 0),
    once_per_customer boolean NOT NULL DEFAULT false,
    from_at timestamptz,
    to_at timestamptz,
    priority integer NOT NULL DEFAULT 0,
    stop boolean NOT NULL DEFAULT false,
    status text NOT NULL DEFAULT 'A' CONSTRAINT promotions_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT promotions_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT promotions_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX promotions_priority_idx ON promotions (tenant_id, priority, id) WHERE deleted_at IS NULL;
CREATE INDEX promotions_coupon_idx ON promotions (tenant_id, coupon_key) WHERE deleted_at IS NULL AND status = 'A';
SELECT vitrine_keep_apart('promotions');

CREATE TABLE promotion_uses (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT promotion_uses_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    promotion_id bigint NOT NULL,
    order_id bigint NOT NULL,
    -- The order came to nothing: the use may be made by another.
    given_back boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT promotion_uses_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT promotion_uses_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT promotion_uses_order_key UNIQUE (tenant_id, order_id, promotion_id),
    CONSTRAINT promotion_uses_promotion_fkey FOREIGN KEY (tenant_id, promotion_id)
        REFERENCES promotions (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT promotion_uses_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX promotion_uses_promotion_idx ON promotion_uses (tenant_id, promotion_id, order_id);
SELECT vitrine_keep_apart('promotion_uses');

ALTER TABLE orders ADD COLUMN coupon_code text NOT NULL DEFAULT '';
