ALTER TABLE persisted_documents DROP COLUMN registrar;
