-- Products that differ in the variants of some features, between which a storefront switches. A product is in one group at most.
CREATE TABLE variation_groups (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT variation_groups_tenant_fkey REFERENCES tenants (id),
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    code text NOT NULL CONSTRAINT variation_groups_code_form
        CHECK (char_length(code) <= 64 AND code ~ '^[A-Za-z0-9_.-]+$' AND code !~ '^[0-9]+$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT variation_groups_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT variation_groups_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE UNIQUE INDEX variation_groups_code_key ON variation_groups (tenant_id, code) WHERE deleted_at IS NULL;

-- The features in which the products differ. Products that have the same variants of those with the purpose `group_catalog_item` are shown
-- as one product, of which the first one is the default.
CREATE TABLE variation_group_features (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT variation_group_features_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    group_id bigint NOT NULL,
    feature_id bigint NOT NULL,
    purpose text NOT NULL CONSTRAINT variation_group_features_purpose_known
        CHECK (purpose IN ('group_catalog_item', 'group_variation_catalog_item')),
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT variation_group_features_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT variation_group_features_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT variation_group_features_once_key UNIQUE (tenant_id, group_id, feature_id),
    CONSTRAINT variation_group_features_group_fkey FOREIGN KEY (tenant_id, group_id)
        REFERENCES variation_groups (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT variation_group_features_feature_fkey FOREIGN KEY (tenant_id, feature_id)
        REFERENCES features (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX variation_group_features_feature_idx ON variation_group_features (tenant_id, feature_id);

CREATE TABLE variation_group_products (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT variation_group_products_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    group_id bigint NOT NULL,
    product_id bigint NOT NULL,
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT variation_group_products_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT variation_group_products_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT variation_group_products_product_key UNIQUE (tenant_id, product_id),
    CONSTRAINT variation_group_products_group_fkey FOREIGN KEY (tenant_id, group_id)
        REFERENCES variation_groups (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT variation_group_products_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX variation_group_products_group_idx ON variation_group_products (tenant_id, group_id, position, product_id);

DO $$
DECLARE
    variation_table text;
BEGIN
    FOREACH variation_table IN ARRAY ARRAY['variation_groups', 'variation_group_features', 'variation_group_products'] LOOP
        PERFORM vitrine_keep_apart(variation_table);
        EXECUTE format(
            'CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version()',
            variation_table
        );
    END LOOP;
END
$$;
SELECT vitrine_number_by_store('variation_groups');
