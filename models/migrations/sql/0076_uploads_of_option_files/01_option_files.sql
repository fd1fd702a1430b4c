-- A shopper's file without a digest waits for its upload.
ALTER TABLE option_files ALTER COLUMN sha256 DROP NOT NULL;
