-- What a shop says of itself, in which languages, and to whom: languages, pages, blocks, subscribers, requests to be called.

CREATE TABLE languages (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT languages_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    code text NOT NULL CONSTRAINT languages_code_form CHECK (code COLLATE "C" ~ '^[a-z]{2,3}(-[a-z0-9]{2,8})?$'),
    name text NOT NULL,
    country_code text NOT NULL DEFAULT '',
    direction text NOT NULL DEFAULT 'ltr' CONSTRAINT languages_direction_known CHECK (direction IN ('ltr', 'rtl')),
    status text NOT NULL DEFAULT 'A' CONSTRAINT languages_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT languages_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT languages_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE UNIQUE INDEX languages_code_key ON languages (tenant_id, code) WHERE deleted_at IS NULL;
CREATE INDEX languages_name_idx ON languages (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX languages_status_idx ON languages (tenant_id, status, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('languages');

CREATE TABLE pages (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT pages_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    parent_id bigint,
    vendor_id bigint,
    name text NOT NULL,
    type text NOT NULL DEFAULT 'T' CONSTRAINT pages_type_known CHECK (type IN ('T', 'L', 'F', 'B')),
    link text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    meta_keywords text NOT NULL DEFAULT '',
    meta_description text NOT NULL DEFAULT '',
    seo_title text NOT NULL DEFAULT '',
    position integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'A' CONSTRAINT pages_status_known CHECK (status IN ('A', 'D')),
    lang_code text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT pages_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT pages_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT pages_parent_fkey FOREIGN KEY (tenant_id, parent_id) REFERENCES pages (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT pages_vendor_fkey FOREIGN KEY (tenant_id, vendor_id) REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX pages_parent_idx ON pages (tenant_id, parent_id, position, id);
CREATE INDEX pages_vendor_idx ON pages (tenant_id, vendor_id);
CREATE INDEX pages_position_idx ON pages (tenant_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX pages_name_idx ON pages (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX pages_status_idx ON pages (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX pages_created_idx ON pages (tenant_id, created_at, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('pages');

CREATE TABLE blocks (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT blocks_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    type text NOT NULL CONSTRAINT blocks_type_length CHECK (char_length(type) BETWEEN 1 AND 64),
    name text NOT NULL,
    properties jsonb NOT NULL DEFAULT '{}' CONSTRAINT blocks_properties_object CHECK (jsonb_typeof(properties) = 'object'),
    content jsonb NOT NULL DEFAULT '{}' CONSTRAINT blocks_content_object CHECK (jsonb_typeof(content) = 'object'),
    status text NOT NULL DEFAULT 'A' CONSTRAINT blocks_status_known CHECK (status IN ('A', 'D')),
    lang_code text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT blocks_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT blocks_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX blocks_name_idx ON blocks (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX blocks_type_idx ON blocks (tenant_id, type, id) WHERE deleted_at IS NULL;
CREATE INDEX blocks_status_idx ON blocks (tenant_id, status, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('blocks');

CREATE TABLE subscribers (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT subscribers_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    email text NOT NULL CONSTRAINT subscribers_email_length CHECK (char_length(email) BETWEEN 3 AND 320),
    lang_code text NOT NULL,
    status text NOT NULL DEFAULT 'A' CONSTRAINT subscribers_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT subscribers_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT subscribers_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE UNIQUE INDEX subscribers_email_key ON subscribers (tenant_id, email) WHERE deleted_at IS NULL;
CREATE INDEX subscribers_email_idx ON subscribers (tenant_id, email, id) WHERE deleted_at IS NULL;
CREATE INDEX subscribers_status_idx ON subscribers (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX subscribers_created_idx ON subscribers (tenant_id, created_at, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('subscribers');

CREATE TABLE call_requests (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT call_requests_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL DEFAULT '',
    phone text NOT NULL,
    time_from text NOT NULL DEFAULT '',
    time_to text NOT NULL DEFAULT '',
    product_id bigint,
    order_id bigint,
    notes text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'N' CONSTRAINT call_requests_status_known CHECK (status IN ('N', 'I', 'C', 'F')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT call_requests_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT call_requests_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT call_requests_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT call_requests_order_fkey FOREIGN KEY (tenant_id, order_id)
        REFERENCES orders (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX call_requests_product_idx ON call_requests (tenant_id, product_id);
CREATE INDEX call_requests_order_idx ON call_requests (tenant_id, order_id);
CREATE INDEX call_requests_created_idx ON call_requests (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX call_requests_status_idx ON call_requests (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX call_requests_name_idx ON call_requests (tenant_id, name, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('call_requests');

-- No store can be without a language either; what came before stays as it was.
ALTER FUNCTION vitrine_furnish_store(bigint) RENAME TO vitrine_furnish_statuses;
CREATE FUNCTION vitrine_furnish_store(store bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $function$
DECLARE
    before text := coalesce(current_setting('vitrine.tenant', true), '');
BEGIN
    PERFORM vitrine_furnish_statuses(store);
    PERFORM set_config('vitrine.tenant', store::text, true);
    INSERT INTO languages (tenant_id, public_id, code, name, country_code)
    SELECT store, vitrine_uuid7(), 'pt', 'Português', 'BR'
    WHERE NOT EXISTS (SELECT FROM languages WHERE tenant_id = store AND deleted_at IS NULL);
    PERFORM set_config('vitrine.tenant', before, true);
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_furnish_store(bigint) FROM PUBLIC;

DO $$
DECLARE
    store bigint;
BEGIN
    FOR store IN SELECT id FROM tenants LOOP
        PERFORM vitrine_furnish_store(store);
    END LOOP;
END
$$;
