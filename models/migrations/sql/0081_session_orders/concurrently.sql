-- The sessions of all users of a store by use, which staff see first, and by creation: 100,000 were sorted for each page.
CREATE INDEX CONCURRENTLY sessions_used_idx ON sessions (tenant_id, last_used_at, id) WHERE ended_at IS NULL;
CREATE INDEX CONCURRENTLY sessions_created_idx ON sessions (tenant_id, created_at, id) WHERE ended_at IS NULL;
