-- Drops the triggers too.
DROP FUNCTION vitrine_move_catalogue_version() CASCADE;
DROP TABLE catalogue_versions;
