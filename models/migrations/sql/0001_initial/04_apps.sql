-- Apps of third parties, what stores have let them do, their tokens, and the keys of storefronts.

-- An app belongs to the platform: one that was registered in a store can be installed in any (decisions section 4). Every store
-- reads all of them (no secret in them is readable) and adds its own. Not FORCE: the owner serves where there is no other role.
CREATE TABLE apps (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT apps_pkey PRIMARY KEY,
    public_id uuid NOT NULL CONSTRAINT apps_public_id_key UNIQUE,
    client_id text NOT NULL CONSTRAINT apps_client_id_key UNIQUE,
    name text NOT NULL CONSTRAINT apps_name_length CHECK (char_length(name) BETWEEN 1 AND 100),
    mode text NOT NULL CONSTRAINT apps_mode_known CHECK (mode IN ('live', 'test')),
    redirect_uris text[] NOT NULL CONSTRAINT apps_redirect_uris_count CHECK (cardinality(redirect_uris) BETWEEN 1 AND 10),
    scopes text[] NOT NULL CONSTRAINT apps_scopes_count CHECK (cardinality(scopes) > 0),
    secret_hash bytea NOT NULL CONSTRAINT apps_secret_hash_length CHECK (octet_length(secret_hash) = 32),
    -- The same secret, encrypted: the HMAC of outbound events is made with it.
    secret_sealed bytea NOT NULL,
    -- The store it was registered in; null for the operator's.
    registered_in bigint CONSTRAINT apps_registered_in_fkey REFERENCES tenants (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX apps_registered_in_idx ON apps (registered_in, id);
ALTER TABLE apps ENABLE ROW LEVEL SECURITY;
CREATE POLICY apps_readable ON apps FOR SELECT USING (true);
CREATE POLICY apps_registered_here ON apps FOR INSERT
    WITH CHECK (registered_in = nullif(current_setting('vitrine.tenant', true), '')::bigint);

CREATE TABLE app_installations (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT app_installations_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    app_id bigint NOT NULL CONSTRAINT app_installations_app_fkey REFERENCES apps (id),
    -- What its administrator approved last; no token does more, whenever it was given.
    scopes text[] NOT NULL,
    rate_limit integer NOT NULL DEFAULT 120
        CONSTRAINT app_installations_rate_limit_range CHECK (rate_limit BETWEEN 1 AND 100000),
    installed_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz,
    CONSTRAINT app_installations_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT app_installations_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE UNIQUE INDEX app_installations_live_key ON app_installations (tenant_id, app_id) WHERE removed_at IS NULL;
CREATE INDEX app_installations_app_idx ON app_installations (app_id);

-- One approval: born as an authorization code, living on in the tokens that the code and its successors gave.
CREATE TABLE app_grants (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT app_grants_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    installation_id bigint NOT NULL,
    code_hash bytea NOT NULL CONSTRAINT app_grants_code_hash_length CHECK (octet_length(code_hash) = 32),
    redirect_uri text NOT NULL,
    code_challenge text,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    code_expires_at timestamptz NOT NULL,
    exchanged_at timestamptz,
    revoked_at timestamptz,
    revoke_reason text NOT NULL DEFAULT '',
    CONSTRAINT app_grants_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT app_grants_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT app_grants_code_key UNIQUE (tenant_id, code_hash),
    CONSTRAINT app_grants_installation_fkey FOREIGN KEY (tenant_id, installation_id)
        REFERENCES app_installations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX app_grants_installation_idx ON app_grants (tenant_id, installation_id);

CREATE TABLE app_tokens (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT app_tokens_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    grant_id bigint NOT NULL,
    -- A access, R refresh.
    kind text NOT NULL CONSTRAINT app_tokens_kind_known CHECK (kind IN ('A', 'R')),
    token_hash bytea NOT NULL CONSTRAINT app_tokens_hash_length CHECK (octet_length(token_hash) = 32),
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT app_tokens_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT app_tokens_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT app_tokens_hash_key UNIQUE (tenant_id, token_hash),
    CONSTRAINT app_tokens_grant_fkey FOREIGN KEY (tenant_id, grant_id) REFERENCES app_grants (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX app_tokens_grant_idx ON app_tokens (tenant_id, grant_id);
CREATE INDEX app_tokens_expiry_idx ON app_tokens (tenant_id, expires_at);

CREATE TABLE storefront_keys (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT storefront_keys_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    key_hash bytea NOT NULL CONSTRAINT storefront_keys_hash_length CHECK (octet_length(key_hash) = 32),
    hint text NOT NULL DEFAULT '',
    name text NOT NULL DEFAULT '' CONSTRAINT storefront_keys_name_length CHECK (char_length(name) <= 100),
    scopes text[] NOT NULL CONSTRAINT storefront_keys_scopes_count CHECK (cardinality(scopes) > 0),
    rate_limit integer NOT NULL DEFAULT 600
        CONSTRAINT storefront_keys_rate_limit_range CHECK (rate_limit BETWEEN 1 AND 100000),
    server_side boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT storefront_keys_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT storefront_keys_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT storefront_keys_hash_key UNIQUE (tenant_id, key_hash)
);
