-- Reads and writes of many records that a worker executes for their caller.
CREATE TABLE bulk_operations (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT bulk_operations_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    kind text NOT NULL CONSTRAINT bulk_operations_kind_known CHECK (kind IN ('query', 'mutation')),
    state text NOT NULL DEFAULT 'pending' CONSTRAINT bulk_operations_state_known
        CHECK (state IN ('pending', 'running', 'cancelling', 'completed', 'failed', 'cancelled')),
    -- The caller: a user, or an installed app with the scopes of its token.
    credential text NOT NULL,
    user_id bigint,
    installation_id bigint,
    scopes text[] NOT NULL DEFAULT '{}',
    document text NOT NULL CONSTRAINT bulk_operations_document_length CHECK (char_length(document) BETWEEN 1 AND 100000),
    -- Of a mutation: the uploaded file, and whether all of its lines are one transaction.
    upload uuid,
    is_atomic boolean NOT NULL DEFAULT false,
    -- Progress: lines, of a query also those of the records of its root fields; bytes of the result; lines of a mutation that failed.
    object_count bigint NOT NULL DEFAULT 0 CONSTRAINT bulk_operations_object_count_range CHECK (object_count >= 0),
    root_object_count bigint NOT NULL DEFAULT 0 CONSTRAINT bulk_operations_root_count_range CHECK (root_object_count >= 0),
    error_count bigint NOT NULL DEFAULT 0 CONSTRAINT bulk_operations_error_count_range CHECK (error_count >= 0),
    file_size bigint NOT NULL DEFAULT 0 CONSTRAINT bulk_operations_file_size_range CHECK (file_size >= 0),
    error_code text NOT NULL DEFAULT '',
    error_message text NOT NULL DEFAULT '',
    -- When a worker may claim it: at once, or when the lease of the one that did expires. Null when it has ended.
    due_at timestamptz,
    claim uuid,
    tries integer NOT NULL DEFAULT 0 CONSTRAINT bulk_operations_tries_range CHECK (tries >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz,
    -- When the operation and its result are deleted.
    expires_at timestamptz,
    CONSTRAINT bulk_operations_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT bulk_operations_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT bulk_operations_user_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT bulk_operations_installation_fkey FOREIGN KEY (tenant_id, installation_id)
        REFERENCES app_installations (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT bulk_operations_caller_known CHECK ((user_id IS NULL) <> (installation_id IS NULL)),
    CONSTRAINT bulk_operations_due_until_ended CHECK ((due_at IS NULL) = (state IN ('completed', 'failed', 'cancelled')))
);
-- A caller has one operation of a kind at a time.
CREATE UNIQUE INDEX bulk_operations_running_key ON bulk_operations (tenant_id, credential, kind) WHERE due_at IS NOT NULL;
CREATE INDEX bulk_operations_due_idx ON bulk_operations (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX bulk_operations_user_idx ON bulk_operations (tenant_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX bulk_operations_installation_idx ON bulk_operations (tenant_id, installation_id, id) WHERE installation_id IS NOT NULL;
CREATE INDEX bulk_operations_credential_idx ON bulk_operations (tenant_id, credential, created_at);
CREATE INDEX bulk_operations_expires_idx ON bulk_operations (tenant_id, expires_at) WHERE expires_at IS NOT NULL;
SELECT vitrine_keep_apart('bulk_operations');

-- The results of a mutation's lines, in the transaction of their effect: a worker that takes over begins after the last of them.
CREATE TABLE bulk_results (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT bulk_results_tenant_fkey REFERENCES tenants (id),
    operation_id bigint NOT NULL,
    first_line bigint NOT NULL,
    -- Lines of the file, of the result (blank lines have none), and those that were refused.
    lines integer NOT NULL CONSTRAINT bulk_results_lines_range CHECK (lines > 0),
    results integer NOT NULL,
    errors integer NOT NULL,
    -- Where the next line begins in the uploaded file.
    next_offset bigint NOT NULL,
    -- JSON, a line each.
    content bytea NOT NULL,
    CONSTRAINT bulk_results_pkey PRIMARY KEY (tenant_id, operation_id, first_line),
    CONSTRAINT bulk_results_operation_fkey FOREIGN KEY (tenant_id, operation_id)
        REFERENCES bulk_operations (tenant_id, id) ON DELETE CASCADE
);
SELECT vitrine_keep_apart('bulk_results');
