-- The stores themselves and what exists before any store is in scope. These tables have no tenant_id.

CREATE TABLE tenants (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT tenants_pkey PRIMARY KEY,
    public_id uuid NOT NULL CONSTRAINT tenants_public_id_key UNIQUE,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'A' CONSTRAINT tenants_status_known CHECK (status IN ('A', 'S', 'M')),
    currency text NOT NULL DEFAULT 'BRL'
        CONSTRAINT tenants_currency_code CHECK (currency COLLATE "C" ~ '^[A-Z]{3}$'),
    maintenance_message text,
    owner_id bigint,
    settings jsonb NOT NULL DEFAULT '{}' CONSTRAINT tenants_settings_object CHECK (jsonb_typeof(settings) = 'object'),
    gateway_secret bytea,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE store_hosts (
    host varchar(253) CONSTRAINT store_hosts_pkey PRIMARY KEY
        CONSTRAINT store_hosts_normalised CHECK (host = lower(host COLLATE "C") AND host !~ '[/[:space:]]' AND host <> ''),
    store_id bigint NOT NULL
        CONSTRAINT store_hosts_store_fkey REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE INDEX store_hosts_store_idx ON store_hosts (store_id);

CREATE TABLE platform_users (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT platform_users_pkey PRIMARY KEY,
    public_id uuid NOT NULL CONSTRAINT platform_users_public_id_key UNIQUE,
    email text NOT NULL CONSTRAINT platform_users_email_length CHECK (char_length(email) BETWEEN 3 AND 320),
    name text NOT NULL DEFAULT '',
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX platform_users_email_key ON platform_users (lower(email COLLATE "C"));

CREATE TABLE signing_keys (
    kid varchar(64) CONSTRAINT signing_keys_pkey PRIMARY KEY,
    algorithm text NOT NULL DEFAULT 'EdDSA',
    private_key bytea NOT NULL,
    public_key bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz
);

-- One row an address and purpose: the moments of the attempts let through within the last minute, so that the minute slides.
CREATE TABLE signin_counts (
    bucket varchar(200) CONSTRAINT signin_counts_pkey PRIMARY KEY,
    recent timestamptz[] NOT NULL DEFAULT '{}'
);

CREATE TABLE job_runs (
    name varchar(100) CONSTRAINT job_runs_pkey PRIMARY KEY,
    due_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    error text NOT NULL DEFAULT ''
);
