-- Where apps want to be told of events, what is on its way to them, and the secret that an app had before.

-- For 24 hours after it was replaced, a secret is still good (decisions section 7).
ALTER TABLE apps ADD COLUMN previous_secret_hash bytea
    CONSTRAINT apps_previous_secret_hash_length CHECK (octet_length(previous_secret_hash) = 32);
ALTER TABLE apps ADD COLUMN previous_secret_sealed bytea;
ALTER TABLE apps ADD COLUMN previous_secret_until timestamptz;

CREATE TABLE event_endpoints (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT event_endpoints_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    installation_id bigint NOT NULL,
    url text NOT NULL CONSTRAINT event_endpoints_url_length CHECK (char_length(url) BETWEEN 1 AND 2048),
    events text[] NOT NULL CONSTRAINT event_endpoints_events_count CHECK (cardinality(events) > 0),
    -- A GraphQL selection that makes the data; null for the data as it is.
    query text CONSTRAINT event_endpoints_query_length CHECK (char_length(query) BETWEEN 1 AND 20000),
    status text NOT NULL DEFAULT 'A' CONSTRAINT event_endpoints_status_known CHECK (status IN ('A', 'D')),
    -- Why it is disabled: `manual`, `gone` (it answered 410), `failing` (for too long); empty while it is not.
    disabled_reason text NOT NULL DEFAULT ''
        CONSTRAINT event_endpoints_disabled_reason_known CHECK (disabled_reason IN ('', 'manual', 'gone', 'failing')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    -- The first failure since the last success; null when the last try went well.
    failing_since timestamptz,
    failures integer NOT NULL DEFAULT 0 CONSTRAINT event_endpoints_failures_not_negative CHECK (failures >= 0),
    -- Nothing is sent before then: the breaker is open, or the receiver asked for a pause.
    paused_until timestamptz,
    -- Whose turn it is: the one that has waited longest.
    claimed_at timestamptz,
    CONSTRAINT event_endpoints_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT event_endpoints_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT event_endpoints_installation_fkey FOREIGN KEY (tenant_id, installation_id)
        REFERENCES app_installations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX event_endpoints_installation_idx ON event_endpoints (tenant_id, installation_id, id);

CREATE TABLE event_deliveries (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT event_deliveries_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    event_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    -- The event's name again, for what looks at many deliveries.
    name text NOT NULL,
    state text NOT NULL DEFAULT 'pending' CONSTRAINT event_deliveries_state_known
        CHECK (state IN ('pending', 'delivering', 'delivered', 'failed', 'dead', 'cancelled')),
    tries integer NOT NULL DEFAULT 0 CONSTRAINT event_deliveries_tries_not_negative CHECK (tries >= 0),
    -- When it is tried next, or, while somebody delivers it, when that one is taken for dead. Null when it is over.
    due_at timestamptz,
    -- Who delivers it: settles it only while it is still theirs.
    claim uuid,
    last_status integer,
    last_error text NOT NULL DEFAULT '',
    attempts jsonb NOT NULL DEFAULT '[]' CONSTRAINT event_deliveries_attempts_array CHECK (jsonb_typeof(attempts) = 'array'),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    CONSTRAINT event_deliveries_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT event_deliveries_public_id_key UNIQUE (tenant_id, public_id),
    -- One event goes to one endpoint once, however often it is handed out.
    CONSTRAINT event_deliveries_event_key UNIQUE (tenant_id, event_id, endpoint_id),
    CONSTRAINT event_deliveries_event_fkey FOREIGN KEY (tenant_id, event_id)
        REFERENCES outbox_events (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT event_deliveries_endpoint_fkey FOREIGN KEY (tenant_id, endpoint_id)
        REFERENCES event_endpoints (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT event_deliveries_due_while_open CHECK ((due_at IS NULL) = (state IN ('delivered', 'dead', 'cancelled'))),
    CONSTRAINT event_deliveries_claimed_while_delivering CHECK ((claim IS NOT NULL) = (state = 'delivering'))
);
-- What waits, by endpoint: the worker jumps from one endpoint to the next, and takes the first of each.
CREATE INDEX event_deliveries_waiting_idx ON event_deliveries (tenant_id, endpoint_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX event_deliveries_in_flight_idx ON event_deliveries (tenant_id, endpoint_id) WHERE state = 'delivering';
CREATE INDEX event_deliveries_endpoint_idx ON event_deliveries (tenant_id, endpoint_id, id);
CREATE INDEX event_deliveries_state_idx ON event_deliveries (tenant_id, state, id);
CREATE INDEX event_deliveries_name_idx ON event_deliveries (tenant_id, name, id);

SELECT vitrine_keep_apart('event_endpoints');
SELECT vitrine_keep_apart('event_deliveries');
