-- The GraphQL documents of a storefront key or an app. They are never evicted; a key may accept nothing else.
ALTER TABLE storefront_keys
    ADD COLUMN trusted_documents_only boolean NOT NULL DEFAULT false,
    ADD COLUMN documents_version integer NOT NULL DEFAULT 0;

CREATE TABLE trusted_documents (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT trusted_documents_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    storefront_key_id bigint,
    installation_id bigint,
    hash bytea NOT NULL CONSTRAINT trusted_documents_hash_length CHECK (octet_length(hash) = 32),
    text text NOT NULL CONSTRAINT trusted_documents_text_length CHECK (char_length(text) BETWEEN 1 AND 100000),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT trusted_documents_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT trusted_documents_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT trusted_documents_one_owner CHECK (num_nonnulls(storefront_key_id, installation_id) = 1),
    CONSTRAINT trusted_documents_key_fkey FOREIGN KEY (tenant_id, storefront_key_id)
        REFERENCES storefront_keys (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT trusted_documents_installation_fkey FOREIGN KEY (tenant_id, installation_id)
        REFERENCES app_installations (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX trusted_documents_key_hash_key ON trusted_documents (tenant_id, storefront_key_id, hash)
    WHERE storefront_key_id IS NOT NULL;
CREATE UNIQUE INDEX trusted_documents_installation_hash_key ON trusted_documents (tenant_id, installation_id, hash)
    WHERE installation_id IS NOT NULL;
SELECT vitrine_keep_apart('trusted_documents');
