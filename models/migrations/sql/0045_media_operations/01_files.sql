-- When a worker is to render an image's sizes in AVIF: null once they are stored or can't be rendered. Every image from before is due, also those
-- whose sizes are stored already: the worker looks for them first.
-- `fetching_until` is the lease of a worker that fetches the file; null when none does, and where a version before it fetches.
ALTER TABLE media_files
    ADD COLUMN avif_due_at timestamptz DEFAULT now(),
    ADD COLUMN avif_attempts integer NOT NULL DEFAULT 0 CONSTRAINT media_files_avif_attempts_not_negative CHECK (avif_attempts >= 0),
    ADD COLUMN fetching_until timestamptz;
CREATE INDEX media_files_avif_idx ON media_files (avif_due_at) WHERE avif_due_at IS NOT NULL AND sha256 IS NOT NULL AND width > 0;
CREATE INDEX media_files_fetching_idx ON media_files (fetching_until) WHERE fetching_until IS NOT NULL;

-- What workers note for themselves is not shown by the catalogue.
DROP TRIGGER catalogue_version ON media_files;
CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR DELETE OR UPDATE OF
    sha256, file_name, mime_type, bytes, width, height, blurhash, alt, status, error, source_url, original_id, user_id, vendor_id,
    unused_since, updated_at ON media_files
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version();
