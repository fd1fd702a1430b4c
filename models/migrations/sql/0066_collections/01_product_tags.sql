-- Words by which products are listed together, in lower case.
CREATE TABLE product_tags (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT product_tags_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    tag text NOT NULL CONSTRAINT product_tags_tag_length CHECK (char_length(tag) BETWEEN 1 AND 64),
    CONSTRAINT product_tags_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT product_tags_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT product_tags_tag_key UNIQUE (tenant_id, product_id, tag),
    CONSTRAINT product_tags_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX product_tags_tag_idx ON product_tags (tenant_id, tag, product_id);
