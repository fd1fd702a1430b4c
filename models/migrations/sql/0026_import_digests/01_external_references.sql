-- What an imported record looked like at its source, so that a later import recognizes what changed there; null where none was kept.
ALTER TABLE external_references ADD COLUMN digest bytea
    CONSTRAINT external_references_digest_length CHECK (octet_length(digest) = 16);
