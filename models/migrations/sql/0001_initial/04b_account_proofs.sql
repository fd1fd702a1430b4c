-- What proves an account beyond its password: the second factor, tokens sent by mail, and the mails themselves.

-- `secret` is encrypted. `used_steps` are the time steps whose codes were used and could still be guessed right.
CREATE TABLE two_factors (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT two_factors_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    secret bytea NOT NULL,
    used_steps bigint[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz,
    CONSTRAINT two_factors_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT two_factors_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT two_factors_user_key UNIQUE (tenant_id, user_id),
    CONSTRAINT two_factors_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE recovery_codes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT recovery_codes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    code_hash bytea NOT NULL CONSTRAINT recovery_codes_hash_length CHECK (octet_length(code_hash) = 32),
    used_at timestamptz,
    CONSTRAINT recovery_codes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT recovery_codes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT recovery_codes_hash_key UNIQUE (tenant_id, user_id, code_hash),
    CONSTRAINT recovery_codes_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

-- A right password that waits for a code. It is deleted by the sign-in that it leads to.
CREATE TABLE sign_in_challenges (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT sign_in_challenges_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint NOT NULL,
    token_hash bytea NOT NULL CONSTRAINT sign_in_challenges_hash_length CHECK (octet_length(token_hash) = 32),
    tries integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT sign_in_challenges_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT sign_in_challenges_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT sign_in_challenges_hash_key UNIQUE (tenant_id, token_hash),
    CONSTRAINT sign_in_challenges_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sign_in_challenges_user_idx ON sign_in_challenges (tenant_id, user_id);
CREATE INDEX sign_in_challenges_expiry_idx ON sign_in_challenges (expires_at);

-- `email` is the address that the token was sent to: it proves no other. Without a user it was made for nobody, only so that making it
-- takes as long as making one for somebody.
CREATE TABLE mailed_tokens (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT mailed_tokens_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint,
    purpose text NOT NULL CONSTRAINT mailed_tokens_purpose_known CHECK (purpose IN ('password_reset', 'email_verification')),
    email text NOT NULL,
    token_hash bytea NOT NULL CONSTRAINT mailed_tokens_hash_length CHECK (octet_length(token_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT mailed_tokens_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT mailed_tokens_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT mailed_tokens_hash_key UNIQUE (tenant_id, token_hash),
    CONSTRAINT mailed_tokens_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX mailed_tokens_user_idx ON mailed_tokens (tenant_id, user_id);
CREATE INDEX mailed_tokens_expiry_idx ON mailed_tokens (expires_at);

-- Written in the transaction of what they tell, sent afterwards. `body` is encrypted, for it may hold a token, and goes when it was sent.
-- status: Q queued, S sent, F given up, N for nobody (see mailed_tokens).
CREATE TABLE mails (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT mails_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    user_id bigint,
    kind text NOT NULL CONSTRAINT mails_kind_length CHECK (char_length(kind) BETWEEN 1 AND 60),
    recipient text NOT NULL,
    subject text NOT NULL,
    body bytea,
    status text NOT NULL DEFAULT 'Q' CONSTRAINT mails_status_known CHECK (status IN ('Q', 'S', 'F', 'N')),
    tries integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    sent_at timestamptz,
    CONSTRAINT mails_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT mails_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT mails_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
-- Across stores: the worker looks for what is due.
CREATE INDEX mails_due_idx ON mails (due_at) WHERE status = 'Q';
CREATE INDEX mails_recent_idx ON mails (tenant_id, user_id, kind, created_at);
CREATE INDEX mails_created_idx ON mails (tenant_id, created_at);
