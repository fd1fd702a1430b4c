-- Who registered a document: 'visitor', 'user', 'key' or 'app', a colon, and which one; of a visitor the keyed hash of its address. A constant
-- default needs no rewrite; the version before registers for visitors.
ALTER TABLE persisted_documents ADD COLUMN registrar text NOT NULL DEFAULT 'visitor:';
