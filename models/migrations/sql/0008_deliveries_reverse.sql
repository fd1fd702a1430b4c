DROP TABLE event_deliveries, event_endpoints;
ALTER TABLE apps DROP COLUMN previous_secret_until, DROP COLUMN previous_secret_sealed, DROP COLUMN previous_secret_hash;
