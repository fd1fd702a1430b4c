-- What buyers say, what records are called elsewhere, and the outbox.

CREATE TABLE discussion_threads (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT discussion_threads_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    object_type text NOT NULL
        CONSTRAINT discussion_threads_object_type_known CHECK (object_type IN ('P', 'C', 'A', 'O', 'E')),
    object_id bigint NOT NULL,
    type text NOT NULL DEFAULT 'B' CONSTRAINT discussion_threads_type_known CHECK (type IN ('C', 'R', 'B')),
    CONSTRAINT discussion_threads_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT discussion_threads_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT discussion_threads_object_key UNIQUE (tenant_id, object_type, object_id)
);

CREATE TABLE discussion_posts (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT discussion_posts_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    thread_id bigint NOT NULL,
    user_id bigint,
    name text NOT NULL DEFAULT '',
    message text NOT NULL DEFAULT '',
    rating smallint CONSTRAINT discussion_posts_rating_range CHECK (rating BETWEEN 1 AND 5),
    status text NOT NULL DEFAULT 'A' CONSTRAINT discussion_posts_status_known CHECK (status IN ('A', 'D', 'P')),
    ip_address text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT discussion_posts_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT discussion_posts_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT discussion_posts_thread_fkey FOREIGN KEY (tenant_id, thread_id)
        REFERENCES discussion_threads (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT discussion_posts_user_fkey FOREIGN KEY (tenant_id, user_id)
        REFERENCES users (tenant_id, id) ON DELETE SET NULL (user_id)
);
CREATE INDEX discussion_posts_thread_idx ON discussion_posts (tenant_id, thread_id, created_at, id);
CREATE INDEX discussion_posts_created_idx ON discussion_posts (tenant_id, created_at, id);
CREATE INDEX discussion_posts_user_idx ON discussion_posts (tenant_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE external_references (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT external_references_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    source text NOT NULL CONSTRAINT external_references_source_length CHECK (char_length(source) BETWEEN 1 AND 60),
    kind text NOT NULL CONSTRAINT external_references_kind_length CHECK (char_length(kind) BETWEEN 1 AND 60),
    external_id text NOT NULL
        CONSTRAINT external_references_external_id_length CHECK (char_length(external_id) BETWEEN 1 AND 255),
    local_id bigint NOT NULL,
    CONSTRAINT external_references_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT external_references_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT external_references_external_key UNIQUE (tenant_id, source, kind, external_id)
);
CREATE INDEX external_references_local_idx ON external_references (tenant_id, kind, local_id);

CREATE TABLE outbox_events (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT outbox_events_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    subject_type text NOT NULL
        CONSTRAINT outbox_events_subject_type_length CHECK (char_length(subject_type) BETWEEN 1 AND 60),
    subject_id uuid NOT NULL,
    sequence bigint NOT NULL CONSTRAINT outbox_events_sequence_positive CHECK (sequence > 0),
    data jsonb NOT NULL CONSTRAINT outbox_events_data_object CHECK (jsonb_typeof(data) = 'object'),
    request_id text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    dispatched_at timestamptz,
    CONSTRAINT outbox_events_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT outbox_events_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT outbox_events_sequence_key UNIQUE (tenant_id, subject_type, subject_id, sequence)
);
-- Across stores: the worker claims what was not sent yet, the oldest first, and later removes what is old.
CREATE INDEX outbox_events_pending_idx ON outbox_events (id) WHERE dispatched_at IS NULL;
CREATE INDEX outbox_events_dispatched_idx ON outbox_events (dispatched_at) WHERE dispatched_at IS NOT NULL;
CREATE INDEX outbox_events_created_idx ON outbox_events (tenant_id, created_at, id);

CREATE TABLE event_sequences (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT event_sequences_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    subject_type text NOT NULL
        CONSTRAINT event_sequences_subject_type_length CHECK (char_length(subject_type) BETWEEN 1 AND 60),
    subject_id uuid NOT NULL,
    latest bigint NOT NULL DEFAULT 0 CONSTRAINT event_sequences_latest_not_negative CHECK (latest >= 0),
    CONSTRAINT event_sequences_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT event_sequences_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT event_sequences_subject_key UNIQUE (tenant_id, subject_type, subject_id)
);

-- GraphQL documents registered by clients.
CREATE TABLE persisted_documents (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT persisted_documents_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    hash bytea NOT NULL CONSTRAINT persisted_documents_hash_sha256 CHECK (octet_length(hash) = 32),
    text text NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT persisted_documents_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT persisted_documents_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT persisted_documents_hash_key UNIQUE (tenant_id, hash)
);
CREATE INDEX persisted_documents_used_idx ON persisted_documents (tenant_id, last_used_at, id);
