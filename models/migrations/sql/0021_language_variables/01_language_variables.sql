-- Texts of a store's storefronts by name and language.
CREATE TABLE language_variables (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT language_variables_tenant_fkey REFERENCES tenants (id),
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    name text NOT NULL CONSTRAINT language_variables_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
    value text NOT NULL DEFAULT '',
    lang_code text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT language_variables_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT language_variables_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT language_variables_name_key UNIQUE (tenant_id, lang_code, name)
);
CREATE INDEX language_variables_name_idx ON language_variables (tenant_id, name, id);
SELECT vitrine_keep_apart('language_variables');
SELECT vitrine_number_by_store('language_variables');
