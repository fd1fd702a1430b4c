#!/bin/sh
# Creates the role that owns the database, and the database, when PostgreSQL's volume is new (docs/deploy.md#postgresql).
set -eu
psql --username postgres --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE vitrine_owner LOGIN PASSWORD :'password' CREATEROLE;
CREATE DATABASE vitrine OWNER vitrine_owner TEMPLATE template0 ENCODING 'UTF8';
SQL
