DROP FUNCTION vitrine_number_events(integer);
DROP INDEX outbox_events_unnumbered_idx;
DROP INDEX outbox_events_position_key;
ALTER TABLE outbox_events DROP COLUMN position;
DROP TABLE event_feeds;
