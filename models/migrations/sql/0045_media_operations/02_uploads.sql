-- What the uploads take that a store has begun and not completed.
CREATE INDEX media_files_awaited_idx ON media_files (tenant_id, bytes) WHERE status = 'pending' AND source_url IS NULL;
