-- Features of type M (several checkboxes), whose value is any number of variants, and O (number).
ALTER TABLE features DROP CONSTRAINT features_type_known;
ALTER TABLE features ADD CONSTRAINT features_type_known
    CHECK (type IN ('S', 'M', 'T', 'N', 'O', 'D', 'C', 'E', 'B', 'A', 'G'));

-- The variants of a value of type M; a value of another type has one, in its own row.
CREATE TABLE feature_value_variants (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT feature_value_variants_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    feature_value_id bigint NOT NULL,
    variant_id bigint NOT NULL,
    CONSTRAINT feature_value_variants_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT feature_value_variants_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT feature_value_variants_once_key UNIQUE (tenant_id, feature_value_id, variant_id),
    CONSTRAINT feature_value_variants_value_fkey FOREIGN KEY (tenant_id, feature_value_id)
        REFERENCES feature_values (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT feature_value_variants_variant_fkey FOREIGN KEY (tenant_id, variant_id)
        REFERENCES feature_variants (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX feature_value_variants_variant_idx ON feature_value_variants (tenant_id, variant_id);
SELECT vitrine_keep_apart('feature_value_variants');
