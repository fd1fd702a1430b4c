-- Credentials and what was done with them. Every token is kept as its SHA-256 only; all of it goes with its user.

CREATE TABLE sessions (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT sessions_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    end_reason text NOT NULL DEFAULT '',
    ip_address text NOT NULL DEFAULT '',
    user_agent text NOT NULL DEFAULT '',
    CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT sessions_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT sessions_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_user_idx ON sessions (tenant_id, user_id, id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

CREATE TABLE refresh_tokens (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT refresh_tokens_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    session_id bigint NOT NULL,
    token_hash bytea NOT NULL CONSTRAINT refresh_tokens_hash_length CHECK (octet_length(token_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    CONSTRAINT refresh_tokens_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT refresh_tokens_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT refresh_tokens_hash_key UNIQUE (tenant_id, token_hash),
    CONSTRAINT refresh_tokens_session_fkey FOREIGN KEY (tenant_id, session_id)
        REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX refresh_tokens_session_idx ON refresh_tokens (tenant_id, session_id);
CREATE INDEX refresh_tokens_expiry_idx ON refresh_tokens (expires_at);

CREATE TABLE api_keys (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT api_keys_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    key_hash bytea NOT NULL CONSTRAINT api_keys_hash_length CHECK (octet_length(key_hash) = 32),
    hint text NOT NULL DEFAULT '',
    name text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT api_keys_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT api_keys_hash_key UNIQUE (tenant_id, key_hash),
    CONSTRAINT api_keys_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX api_keys_user_idx ON api_keys (tenant_id, user_id);

CREATE TABLE legacy_tokens (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT legacy_tokens_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    token_hash bytea NOT NULL CONSTRAINT legacy_tokens_hash_length CHECK (octet_length(token_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    CONSTRAINT legacy_tokens_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT legacy_tokens_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT legacy_tokens_hash_key UNIQUE (tenant_id, token_hash),
    CONSTRAINT legacy_tokens_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX legacy_tokens_user_idx ON legacy_tokens (tenant_id, user_id);
CREATE INDEX legacy_tokens_expiry_idx ON legacy_tokens (expires_at);

CREATE TABLE wrong_attempts (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT wrong_attempts_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    subject text NOT NULL CONSTRAINT wrong_attempts_subject_length CHECK (char_length(subject) <= 200),
    at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wrong_attempts_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT wrong_attempts_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX wrong_attempts_subject_idx ON wrong_attempts (tenant_id, subject, at);
CREATE INDEX wrong_attempts_at_idx ON wrong_attempts (at);

CREATE TABLE lockouts (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT lockouts_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    subject text NOT NULL CONSTRAINT lockouts_subject_length CHECK (char_length(subject) <= 200),
    until timestamptz NOT NULL,
    CONSTRAINT lockouts_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT lockouts_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT lockouts_subject_key UNIQUE (tenant_id, subject)
);
CREATE INDEX lockouts_until_idx ON lockouts (until);

-- No foreign keys: the log outlives what it speaks of.
CREATE TABLE audit_entries (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT audit_entries_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    actor_kind text NOT NULL DEFAULT 'system',
    user_id bigint,
    app_id bigint,
    action text NOT NULL,
    subject_type text NOT NULL DEFAULT '' CONSTRAINT audit_entries_subject_type_length CHECK (char_length(subject_type) <= 100),
    subject_id text NOT NULL DEFAULT '' CONSTRAINT audit_entries_subject_id_length CHECK (char_length(subject_id) <= 200),
    details jsonb NOT NULL DEFAULT '{}' CONSTRAINT audit_entries_details_object CHECK (jsonb_typeof(details) = 'object'),
    ip_address text NOT NULL DEFAULT '',
    request_id text NOT NULL DEFAULT '',
    CONSTRAINT audit_entries_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT audit_entries_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX audit_entries_at_idx ON audit_entries (tenant_id, at, id);
CREATE INDEX audit_entries_subject_idx ON audit_entries (tenant_id, subject_type, subject_id, id);
