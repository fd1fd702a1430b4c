-- Where an app answers the calls of stores, by kind of call.
ALTER TABLE apps ADD COLUMN call_urls jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT apps_call_urls_object CHECK (jsonb_typeof(call_urls) = 'object');

-- The calls that a store made to its apps. What was sent and answered is not kept: it has data of customers and of their payments.
CREATE TABLE app_calls (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT app_calls_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    installation_id bigint NOT NULL,
    name text NOT NULL CONSTRAINT app_calls_name_length CHECK (char_length(name) BETWEEN 1 AND 60),
    subject_id text NOT NULL DEFAULT '' CONSTRAINT app_calls_subject_length CHECK (char_length(subject_id) <= 60),
    state text NOT NULL CONSTRAINT app_calls_state_known CHECK (state IN ('answered', 'refused', 'failed')),
    status integer,
    reason text NOT NULL DEFAULT '' CONSTRAINT app_calls_reason_length CHECK (char_length(reason) <= 300),
    duration_ms integer NOT NULL DEFAULT 0 CONSTRAINT app_calls_duration_not_negative CHECK (duration_ms >= 0),
    request_id text NOT NULL DEFAULT '' CONSTRAINT app_calls_request_id_length CHECK (char_length(request_id) <= 128),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT app_calls_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT app_calls_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT app_calls_installation_fkey FOREIGN KEY (tenant_id, installation_id)
        REFERENCES app_installations (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX app_calls_installation_idx ON app_calls (tenant_id, installation_id, id);
CREATE INDEX app_calls_created_idx ON app_calls (tenant_id, created_at);
SELECT vitrine_keep_apart('app_calls');
