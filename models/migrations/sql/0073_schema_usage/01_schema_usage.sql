-- The use of the GraphQL schema: of each root field and each deprecated field by each app, storefront key and kind of user.
CREATE TABLE schema_usage (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT schema_usage_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    field text NOT NULL,
    is_deprecated boolean NOT NULL,
    caller text NOT NULL,
    installation_id bigint,
    storefront_key_id bigint,
    uses bigint NOT NULL,
    first_used_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT schema_usage_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT schema_usage_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT schema_usage_caller_key UNIQUE NULLS NOT DISTINCT (tenant_id, field, caller, installation_id, storefront_key_id),
    CONSTRAINT schema_usage_installation_fkey FOREIGN KEY (tenant_id, installation_id)
        REFERENCES app_installations (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT schema_usage_storefront_key_fkey FOREIGN KEY (tenant_id, storefront_key_id)
        REFERENCES storefront_keys (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX schema_usage_installation_idx ON schema_usage (tenant_id, installation_id) WHERE installation_id IS NOT NULL;
CREATE INDEX schema_usage_storefront_key_idx ON schema_usage (tenant_id, storefront_key_id) WHERE storefront_key_id IS NOT NULL;
SELECT vitrine_keep_apart('schema_usage');
