-- Requests sent with an Idempotency-Key. The result is text, not jsonb: its keys must come back in their order.
CREATE TABLE idempotency_claims (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT idempotency_claims_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    credential text NOT NULL CONSTRAINT idempotency_claims_credential_length CHECK (char_length(credential) <= 200),
    key text NOT NULL CONSTRAINT idempotency_claims_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
    fingerprint bytea NOT NULL CONSTRAINT idempotency_claims_fingerprint_sha256 CHECK (octet_length(fingerprint) = 32),
    owner uuid NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    done_at timestamptz,
    result text,
    status smallint,
    body bytea,
    content_type text NOT NULL DEFAULT '',
    CONSTRAINT idempotency_claims_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT idempotency_claims_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT idempotency_claims_key_key UNIQUE (tenant_id, credential, key)
);
CREATE INDEX idempotency_claims_claimed_idx ON idempotency_claims (tenant_id, claimed_at);
