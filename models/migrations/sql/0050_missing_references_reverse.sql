ALTER TABLE external_references DROP COLUMN missing;
