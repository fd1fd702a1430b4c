-- What a store used in an hour (domain.store_usage): processes add what they counted; what it stores is measured, NULL until then.
CREATE TABLE store_usage (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT store_usage_tenant_fkey REFERENCES tenants (id),
    hour timestamptz NOT NULL,
    requests bigint NOT NULL DEFAULT 0,
    cpu_seconds double precision NOT NULL DEFAULT 0,
    statements bigint NOT NULL DEFAULT 0,
    statement_seconds double precision NOT NULL DEFAULT 0,
    rows_read bigint NOT NULL DEFAULT 0,
    webhooks bigint NOT NULL DEFAULT 0,
    mails bigint NOT NULL DEFAULT 0,
    stored_rows bigint,
    table_bytes bigint,
    media_bytes bigint,
    file_bytes bigint,
    CONSTRAINT store_usage_pkey PRIMARY KEY (tenant_id, hour)
) WITH (fillfactor = 70);
SELECT vitrine_keep_apart('store_usage');
