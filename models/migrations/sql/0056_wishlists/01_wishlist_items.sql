-- The products that customers keep for later.
CREATE TABLE wishlist_items (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT wishlist_items_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    product_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wishlist_items_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT wishlist_items_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT wishlist_items_product_key UNIQUE (tenant_id, user_id, product_id),
    CONSTRAINT wishlist_items_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT wishlist_items_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX wishlist_items_product_idx ON wishlist_items (tenant_id, product_id);
SELECT vitrine_keep_apart('wishlist_items');
