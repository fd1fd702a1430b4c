-- The event feed: every event of a store at a position, in an order in which no event becomes visible after a later one.
-- Positions are assigned after the commit of the transaction that emitted the event, by `vitrine_number_events`. Those who emit events
-- therefore wait for nobody, and a transaction that stays open for long delays its own events only. `latest` is the last position that was
-- assigned, `expired` the highest of an event that was deleted.
CREATE TABLE event_feeds (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT event_feeds_tenant_fkey REFERENCES tenants (id),
    latest bigint NOT NULL DEFAULT 0,
    expired bigint NOT NULL DEFAULT 0,
    CONSTRAINT event_feeds_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT event_feeds_expired_before_latest CHECK (0 <= expired AND expired <= latest)
);
SELECT vitrine_keep_apart('event_feeds');

-- Null until it is assigned; `ping`, which tests one endpoint, is not part of the feed.
ALTER TABLE outbox_events ADD COLUMN position bigint;
CREATE UNIQUE INDEX outbox_events_position_key ON outbox_events (tenant_id, position) WHERE position IS NOT NULL;
CREATE INDEX outbox_events_unnumbered_idx ON outbox_events (tenant_id, id) WHERE position IS NULL AND name <> 'ping';

-- Assign positions to at most `most` committed events of the store in the setting, and return their number.
-- The order of ids is that of cause and effect: an event that another transaction could react to had its id before. The function is
-- volatile, so each of its statements sees what was committed before it began: the one after the lock sees all that was numbered before.
CREATE FUNCTION vitrine_number_events(most integer) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
    store bigint := nullif(current_setting('vitrine.tenant', true), '')::bigint;
    assigned integer;
BEGIN
    IF NOT EXISTS (SELECT FROM outbox_events WHERE tenant_id = store AND position IS NULL AND name <> 'ping') THEN
        RETURN 0;  -- without the lock
    END IF;
    INSERT INTO event_feeds (tenant_id) VALUES (store) ON CONFLICT DO NOTHING;
    PERFORM FROM event_feeds WHERE tenant_id = store FOR UPDATE;
    WITH batch AS (
        SELECT id FROM outbox_events WHERE tenant_id = store AND position IS NULL AND name <> 'ping'
        ORDER BY id LIMIT most FOR NO KEY UPDATE
    ), numbered AS (
        SELECT b.id, f.latest + row_number() OVER (ORDER BY b.id) AS position
        FROM batch b CROSS JOIN (SELECT latest FROM event_feeds WHERE tenant_id = store) f
    )
    UPDATE outbox_events e SET position = n.position FROM numbered n WHERE e.tenant_id = store AND e.id = n.id;
    GET DIAGNOSTICS assigned = ROW_COUNT;
    UPDATE event_feeds SET latest = latest + assigned WHERE tenant_id = store AND assigned > 0;
    RETURN assigned;
END
$function$;
