-- Vendors, users, usergroups.

CREATE TABLE vendors (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT vendors_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'A' CONSTRAINT vendors_status_known CHECK (status IN ('A', 'D', 'P', 'N')),
    phone text NOT NULL DEFAULT '',
    address text NOT NULL DEFAULT '',
    city text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT '',
    country text NOT NULL DEFAULT 'BR',
    zipcode text NOT NULL DEFAULT '',
    cnpj text CONSTRAINT vendors_cnpj_length CHECK (char_length(cnpj) <= 40),
    url text NOT NULL DEFAULT '',
    -- Text, because it is an amount or a percentage, as commission_type says, shown as it was given.
    commission text NOT NULL DEFAULT '0.00',
    commission_type text NOT NULL DEFAULT 'P'
        CONSTRAINT vendors_commission_type_known CHECK (commission_type IN ('A', 'P')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT vendors_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT vendors_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX vendors_created_idx ON vendors (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX vendors_status_idx ON vendors (tenant_id, status, id) WHERE deleted_at IS NULL;

CREATE TABLE users (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT users_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    email text CONSTRAINT users_email_length CHECK (char_length(email) BETWEEN 3 AND 320),
    password_hash text,
    user_type text NOT NULL DEFAULT 'C' CONSTRAINT users_user_type_known CHECK (user_type IN ('A', 'V', 'C')),
    status text NOT NULL DEFAULT 'A' CONSTRAINT users_status_known CHECK (status IN ('A', 'D', 'P')),
    firstname text NOT NULL DEFAULT '',
    lastname text NOT NULL DEFAULT '',
    name text NOT NULL GENERATED ALWAYS AS (btrim(firstname || ' ' || lastname)) STORED,
    company_name text NOT NULL DEFAULT '',
    phone text CONSTRAINT users_phone_length CHECK (char_length(phone) <= 40),
    cpf text CONSTRAINT users_cpf_length CHECK (char_length(cpf) <= 40),
    cnpj text CONSTRAINT users_cnpj_length CHECK (char_length(cnpj) <= 40),
    vendor_id bigint,
    privileges text[] NOT NULL DEFAULT '{}',
    points integer NOT NULL DEFAULT 0,
    email_verified_at timestamptz,
    password_changed_at timestamptz,
    last_login_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    search tsvector NOT NULL GENERATED ALWAYS AS
        (vitrine_search_vector(tenant_id, firstname || ' ' || lastname || ' ' || coalesce(email, ''))) STORED,
    CONSTRAINT users_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT users_public_id_key UNIQUE (tenant_id, public_id),
    -- A vendor is hidden, not removed, while anybody belongs to it.
    CONSTRAINT users_vendor_fkey FOREIGN KEY (tenant_id, vendor_id) REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE UNIQUE INDEX users_email_key ON users (tenant_id, email) WHERE deleted_at IS NULL;
CREATE INDEX users_created_idx ON users (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_name_idx ON users (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX users_email_idx ON users (tenant_id, coalesce(email, ''), id) WHERE deleted_at IS NULL;
CREATE INDEX users_status_idx ON users (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX users_type_idx ON users (tenant_id, user_type, id) WHERE deleted_at IS NULL;
CREATE INDEX users_vendor_idx ON users (tenant_id, vendor_id, id);
CREATE INDEX users_cpf_idx ON users (tenant_id, cpf) WHERE cpf IS NOT NULL;
CREATE INDEX users_cnpj_idx ON users (tenant_id, cnpj) WHERE cnpj IS NOT NULL;
CREATE INDEX users_phone_idx ON users (tenant_id, phone) WHERE phone IS NOT NULL;
CREATE INDEX users_search_idx ON users USING gin (search) WITH (fastupdate = off);

-- A store's owner is one of its own users.
ALTER TABLE tenants ADD CONSTRAINT tenants_owner_fkey
    FOREIGN KEY (id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT;
CREATE INDEX tenants_owner_idx ON tenants (id, owner_id);

CREATE TABLE usergroups (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT usergroups_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    type text NOT NULL DEFAULT 'C' CONSTRAINT usergroups_type_known CHECK (type IN ('A', 'C')),
    status text NOT NULL DEFAULT 'A' CONSTRAINT usergroups_status_known CHECK (status IN ('A', 'D', 'H')),
    privileges text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT usergroups_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT usergroups_public_id_key UNIQUE (tenant_id, public_id)
);

CREATE TABLE usergroup_memberships (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT usergroup_memberships_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    usergroup_id bigint NOT NULL,
    user_id bigint NOT NULL,
    status text NOT NULL DEFAULT 'A'
        CONSTRAINT usergroup_memberships_status_known CHECK (status IN ('A', 'F', 'P', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT usergroup_memberships_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT usergroup_memberships_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT usergroup_memberships_once_key UNIQUE (tenant_id, usergroup_id, user_id),
    CONSTRAINT usergroup_memberships_usergroup_fkey FOREIGN KEY (tenant_id, usergroup_id)
        REFERENCES usergroups (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT usergroup_memberships_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX usergroup_memberships_user_idx ON usergroup_memberships (tenant_id, user_id);
