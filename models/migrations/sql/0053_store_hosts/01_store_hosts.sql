-- Hosts that are there were added by the operator, who needs no proof. At most one host of a store is its primary one.
ALTER TABLE store_hosts
    ADD COLUMN verified_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN is_primary boolean NOT NULL DEFAULT false,
    ADD COLUMN is_redirected boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX store_hosts_primary_key ON store_hosts (store_id) WHERE is_primary;

-- Hosts that a store asked for and has not proved to control. They resolve to no store; several stores may ask for one.
CREATE TABLE store_host_claims (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT store_host_claims_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    host varchar(253) NOT NULL,
    token text NOT NULL,
    error text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT store_host_claims_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT store_host_claims_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT store_host_claims_host_key UNIQUE (tenant_id, host)
);
SELECT vitrine_keep_apart('store_host_claims');
