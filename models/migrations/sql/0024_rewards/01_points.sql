-- Reward points: the balance is users.points, which the versions before only showed; every change of it is an entry.
-- The constraint is not validated: it holds for every change from now on, and no version before changed the column.
ALTER TABLE users ADD CONSTRAINT users_points_not_negative CHECK (points >= 0) NOT VALID;

-- What an order gives when it is paid, what was spent on it, and what that was worth (a part of its discount).
ALTER TABLE orders ADD COLUMN points_earned integer NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN points_spent integer NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN points_cents bigint NOT NULL DEFAULT 0;
ALTER TABLE carts ADD COLUMN points_to_use integer NOT NULL DEFAULT 0;

CREATE TABLE point_entries (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT point_entries_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    order_id bigint,
    kind text NOT NULL
        CONSTRAINT point_entries_kind_known CHECK (kind IN ('earned', 'reversed', 'spent', 'returned', 'adjusted')),
    -- Positive entries add to the balance; balance is the one after the entry.
    points integer NOT NULL CONSTRAINT point_entries_points_not_zero CHECK (points <> 0),
    balance integer NOT NULL CONSTRAINT point_entries_balance_not_negative CHECK (balance >= 0),
    reason text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT point_entries_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT point_entries_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT point_entries_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT point_entries_order_fkey FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX point_entries_user_idx ON point_entries (tenant_id, user_id, created_at, id);
CREATE INDEX point_entries_created_idx ON point_entries (tenant_id, created_at, id);
CREATE INDEX point_entries_order_idx ON point_entries (tenant_id, order_id) WHERE order_id IS NOT NULL;
SELECT vitrine_keep_apart('point_entries');
