-- Addresses that asked for a mail when a product, or a combination of it, can be bought again; that mail ends the notice.
CREATE TABLE stock_notices (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT stock_notices_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    email text NOT NULL CONSTRAINT stock_notices_email_length CHECK (char_length(email) BETWEEN 3 AND 320),
    product_id bigint NOT NULL,
    combination_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT stock_notices_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT stock_notices_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT stock_notices_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT stock_notices_combination_fkey FOREIGN KEY (tenant_id, combination_id)
        REFERENCES combinations (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX stock_notices_email_key ON stock_notices (tenant_id, email, product_id, coalesce(combination_id, 0));
CREATE INDEX stock_notices_product_idx ON stock_notices (tenant_id, product_id);
CREATE INDEX stock_notices_combination_idx ON stock_notices (tenant_id, combination_id) WHERE combination_id IS NOT NULL;
SELECT vitrine_keep_apart('stock_notices');
