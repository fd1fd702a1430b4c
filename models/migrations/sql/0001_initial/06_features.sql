-- Properties of products.

CREATE TABLE features (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT features_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    type text NOT NULL DEFAULT 'T'
        CONSTRAINT features_type_known CHECK (type IN ('S', 'T', 'N', 'D', 'C', 'E', 'B', 'A', 'G')),
    parent_id bigint CONSTRAINT features_not_own_parent CHECK (parent_id <> id),
    status text NOT NULL DEFAULT 'A' CONSTRAINT features_status_known CHECK (status IN ('A', 'D', 'H')),
    position integer NOT NULL DEFAULT 0,
    prefix text NOT NULL DEFAULT '',
    suffix text NOT NULL DEFAULT '',
    comparison boolean NOT NULL DEFAULT false,
    display_on_product boolean NOT NULL DEFAULT true,
    display_on_catalog boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT features_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT features_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT features_parent_fkey FOREIGN KEY (tenant_id, parent_id)
        REFERENCES features (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX features_parent_idx ON features (tenant_id, parent_id);
CREATE INDEX features_position_idx ON features (tenant_id, position, id) WHERE deleted_at IS NULL;

CREATE TABLE feature_variants (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT feature_variants_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    feature_id bigint NOT NULL,
    name text NOT NULL,
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT feature_variants_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT feature_variants_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT feature_variants_feature_fkey FOREIGN KEY (tenant_id, feature_id)
        REFERENCES features (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX feature_variants_feature_idx ON feature_variants (tenant_id, feature_id, position, id);

CREATE TABLE feature_categories (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT feature_categories_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    feature_id bigint NOT NULL,
    category_id bigint NOT NULL,
    CONSTRAINT feature_categories_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT feature_categories_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT feature_categories_once_key UNIQUE (tenant_id, feature_id, category_id),
    CONSTRAINT feature_categories_feature_fkey FOREIGN KEY (tenant_id, feature_id)
        REFERENCES features (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT feature_categories_category_fkey FOREIGN KEY (tenant_id, category_id)
        REFERENCES categories (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX feature_categories_category_idx ON feature_categories (tenant_id, category_id);

CREATE TABLE feature_values (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT feature_values_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    feature_id bigint NOT NULL,
    variant_id bigint,
    value text NOT NULL DEFAULT '',
    value_int bigint,
    CONSTRAINT feature_values_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT feature_values_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT feature_values_once_key UNIQUE (tenant_id, product_id, feature_id),
    CONSTRAINT feature_values_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT feature_values_feature_fkey FOREIGN KEY (tenant_id, feature_id)
        REFERENCES features (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT feature_values_variant_fkey FOREIGN KEY (tenant_id, variant_id)
        REFERENCES feature_variants (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX feature_values_feature_idx ON feature_values (tenant_id, feature_id, value_int);
CREATE INDEX feature_values_variant_idx ON feature_values (tenant_id, variant_id);
