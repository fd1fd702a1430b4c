-- Undo 0076_uploads_of_option_files. What waits for its upload is forgotten.
DELETE FROM option_files WHERE sha256 IS NULL;
ALTER TABLE option_files ALTER COLUMN sha256 SET NOT NULL;
