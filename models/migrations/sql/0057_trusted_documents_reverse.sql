DROP TABLE trusted_documents;
ALTER TABLE storefront_keys DROP COLUMN trusted_documents_only, DROP COLUMN documents_version;
