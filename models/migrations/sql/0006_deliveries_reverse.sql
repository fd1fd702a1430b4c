DROP TABLE event_deliveries, event_endpoints;
DROP FUNCTION vitrine_uuid7();
ALTER TABLE apps DROP COLUMN previous_secret_until, DROP COLUMN previous_secret_sealed, DROP COLUMN previous_secret_hash;
