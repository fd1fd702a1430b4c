#!/bin/sh
# Creates the login role of the pooler, or changes its password (docs/scaling.md#pooler).
set -eu
psql --set ON_ERROR_STOP=1 --set password="$PGPASSWORD" <<'SQL'
SELECT 'CREATE ROLE vitrine_pooler LOGIN NOINHERIT' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'vitrine_pooler') \gexec
ALTER ROLE vitrine_pooler PASSWORD :'password';
GRANT vitrine_app, vitrine_worker TO vitrine_pooler;
SQL
