-- Undo 0006_statuses. Fails while a parcel has a letter that a store added.

DROP TRIGGER tenants_furnished ON tenants;
DROP FUNCTION vitrine_furnish_new_store(), vitrine_furnish_store(bigint), vitrine_uuid7();
DROP INDEX shipments_status_idx;
ALTER TABLE shipments DROP CONSTRAINT shipments_status_letter;
ALTER TABLE shipments ADD CONSTRAINT shipments_status_known CHECK (status IN ('P', 'A', 'S'));
ALTER TABLE tenants DROP COLUMN status_letters;
DROP TABLE statuses;
