ALTER TABLE external_references DROP COLUMN digest;
