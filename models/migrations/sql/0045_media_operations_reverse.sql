-- Undo 0045_media_operations. Which images have no AVIF yet is forgotten; the stored sizes stay.
DROP TRIGGER catalogue_version ON media_files;
CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON media_files
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version();
DROP INDEX media_files_awaited_idx;
ALTER TABLE media_files DROP COLUMN avif_due_at, DROP COLUMN avif_attempts, DROP COLUMN fetching_until;
