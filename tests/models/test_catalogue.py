"""The tables are as ARCHITECTURE.md says: no table of a store can be left out of what keeps stores apart."""

from __future__ import annotations

import pytest
from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField
from tortoise.fields.relational import RelationalField

from models import MODEL_MODULES
from models import database as db
from models.migrate import APP_LABEL

# Columns no model has, because nobody reads them as a value.
DATABASE_ONLY = {("products", "search"), ("users", "search")}
# Platform tables: they exist before any store is in scope.
PLATFORM_TABLES = {
    "tenants", "store_hosts", "platform_users", "signing_keys", "signin_counts", "job_runs", "tortoise_migrations",
    "apps",
}  # fmt: skip
STORE_EXPRESSION = "(tenant_id = (NULLIF(current_setting('vitrine.tenant'::text, true), ''::text))::bigint)"
TYPES = {
    fields.TextField: "text",
    fields.BigIntField: "bigint",
    fields.IntField: "integer",
    fields.SmallIntField: "smallint",
    fields.BooleanField: "boolean",
    fields.DatetimeField: "timestamp with time zone",
    fields.UUIDField: "uuid",
    fields.JSONField: "jsonb",
    fields.BinaryField: "bytea",
}

pytestmark = pytest.mark.usefixtures("database")


async def store_tables() -> list[str]:
    found = await db.rows("""
        select relname from pg_class join pg_attribute on attrelid = pg_class.oid
        where attname = 'tenant_id' and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
        order by 1""")
    return [record["relname"] for record in found]


async def test_every_table_belongs_to_a_store_or_is_named_as_the_platforms():
    found = await db.rows("""
        select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace""")
    assert {record["relname"] for record in found} == {*await store_tables(), *PLATFORM_TABLES}


async def test_every_store_table_is_under_forced_row_level_security():
    found = await db.rows(
        """
        select relname, relrowsecurity, relforcerowsecurity from pg_class
        where relname = any($1) and relkind = 'r'""",
        await store_tables(),
    )
    assert [r["relname"] for r in found if not (r["relrowsecurity"] and r["relforcerowsecurity"])] == []


async def test_every_store_table_has_the_policy_of_its_own_store():
    found = await db.rows(
        "select * from pg_policies where schemaname = 'public' and policyname = 'own_store'"
    )
    policies = {record["tablename"]: record for record in found}
    assert sorted(policies) == await store_tables()
    for table, policy in policies.items():
        assert (policy["permissive"], policy["roles"], policy["cmd"]) == ("PERMISSIVE", ["public"], "ALL"), (
            table
        )
        assert policy["qual"] == policy["with_check"] == STORE_EXPRESSION, table


async def test_other_policies_are_only_those_of_the_worker_and_of_search():
    found = await db.rows("""
        select tablename, policyname, roles, cmd from pg_policies
        where schemaname = 'public' and policyname <> 'own_store'""")
    assert {(r["tablename"], r["policyname"], *r["roles"], r["cmd"]) for r in found} == {
        ("tenants", "tenants_readable", "public", "SELECT"),
        ("tenants", "tenants_own_row", "public", "UPDATE"),
        ("apps", "apps_readable", "public", "SELECT"),
        ("apps", "apps_registered_here", "public", "INSERT"),
        ("products", "searched", "vitrine_search", "SELECT"),
        ("users", "searched", "vitrine_search", "SELECT"),
        *(
            (table, "across_stores", "vitrine_worker", "ALL")
            for table in (
                "tenants", "apps", "outbox_events", "app_installations", "event_endpoints", "event_deliveries",
                "orders", "gateway_notifications", "sessions", "refresh_tokens", "legacy_tokens",
                "wrong_attempts", "lockouts", "mails", "carts",
            )
        ),
    }  # fmt: skip


async def test_no_role_of_ours_is_exempt_or_can_log_in():
    found = await db.rows("""
        select rolname, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole from pg_roles
        where rolname like 'vitrine\\_%' and rolname <> 'vitrine_owner'""")
    assert {r["rolname"] for r in found} == {"vitrine_app", "vitrine_worker", "vitrine_search"}
    assert [r["rolname"] for r in found if any(tuple(r)[1:])] == []


async def test_the_owner_does_not_inherit_what_the_other_roles_see():
    for role in ("vitrine_app", "vitrine_worker", "vitrine_search"):
        assert not await db.value("select pg_has_role('vitrine_owner', $1, 'USAGE')", role), role
        assert await db.value("select pg_has_role('vitrine_owner', $1, 'SET')", role), role


async def test_keys_of_store_tables_begin_with_the_store():
    found = await db.rows(
        """
        select indrelid::regclass::text as table, indexrelid::regclass::text as index, indisprimary,
               array(select attname::text from unnest(indkey) with ordinality k(attnum, n)
                     left join pg_attribute a on a.attrelid = indrelid and a.attnum = k.attnum order by n) as columns
        from pg_index where indisunique and indrelid::regclass::text = any($1)""",
        await store_tables(),
    )
    assert [r["index"] for r in found if r["columns"][0] != "tenant_id"] == []
    primary = {r["table"]: r["columns"] for r in found if r["indisprimary"]}
    assert primary == {table: ["tenant_id", "id"] for table in await store_tables()}
    with_public_id = {r["table"] for r in found if r["columns"] == ["tenant_id", "public_id"]}
    assert sorted(with_public_id) == await store_tables()


FOREIGN_KEYS = """
    select conname, conrelid::regclass::text as table, confrelid::regclass::text as target, confdeltype::text as on_delete,
           conrelid as table_oid, conkey,
           array(select attname::text from unnest(conkey) with ordinality k(attnum, n)
                 join pg_attribute a on a.attrelid = conrelid and a.attnum = k.attnum order by n) as columns,
           array(select attname::text from unnest(confkey) with ordinality k(attnum, n)
                 join pg_attribute a on a.attrelid = confrelid and a.attnum = k.attnum order by n) as target_columns
    from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace"""


async def test_foreign_keys_between_store_tables_hold_the_store():
    tables = await store_tables()
    keys = [r for r in await db.rows(FOREIGN_KEYS) if r["table"] in tables]
    to_stores = [r for r in keys if r["target"] == "tenants"]
    assert sorted(r["table"] for r in to_stores) == tables
    for key in keys:
        if key["target"] == "tenants":
            assert key["columns"] == ["tenant_id"], key["conname"]
        elif key["target"] == "apps":
            # A platform table: an app is installed in many stores.
            assert key["columns"] == ["app_id"], key["conname"]
        else:
            assert key["columns"][0] == "tenant_id", key["conname"]
            assert key["target_columns"] == ["tenant_id", "id"], key["conname"]


async def test_every_foreign_key_is_indexed():
    keys = await db.rows(FOREIGN_KEYS)
    indexes = await db.rows("""
        select indrelid as table_oid, indkey::int2[] as columns, pg_get_expr(indpred, indrelid) as predicate
        from pg_index where indisvalid""")
    bare = []
    for key in keys:
        wanted = set(key["conkey"])
        bare.append(key["conname"])
        for index in indexes:
            leading = set(list(index["columns"])[: len(wanted)])
            # A partial index serves when it leaves out only rows that point at nothing.
            covers = index["predicate"] is None or index["predicate"] == f"({key['columns'][-1]} IS NOT NULL)"
            if index["table_oid"] == key["table_oid"] and leading == wanted and covers:
                bare.pop()
                break
    assert bare == []


async def test_every_constraint_has_a_name_that_says_what_it_is():
    found = await db.rows("""
        select conname, conrelid::regclass::text as table, contype::text from pg_constraint
        where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'c', 'f')
          and conrelid::regclass::text <> 'tortoise_migrations'""")
    endings = {"p": "_pkey", "u": "_key", "f": "_fkey", "c": ""}
    for record in found:
        assert record["conname"].startswith(record["table"] + "_"), record["conname"]
        assert record["conname"].endswith(endings[record["contype"]]), record["conname"]
        # `products_check1` and the like are PostgreSQL's own inventions.
        assert not record["conname"].rstrip("0123456789").endswith("_check"), record["conname"]


async def columns_by_table() -> dict[str, dict[str, tuple[str, bool, bool]]]:
    found = await db.rows("""
        select relname, attname, format_type(atttypid, atttypmod) as type, attnotnull,
               attgenerated <> '' or attidentity <> '' as generated
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relkind = 'r' and relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped""")
    tables: dict[str, dict[str, tuple[str, bool, bool]]] = {}
    for r in found:
        tables.setdefault(r["relname"], {})[r["attname"]] = (r["type"], not r["attnotnull"], r["generated"])
    return tables


def column_of(field: fields.Field) -> tuple[str, bool, bool]:
    if isinstance(field, ArrayField):
        kind = {
            "TEXT[]": "text[]",
            "BIGINT[]": "bigint[]",
            "TIMESTAMPTZ[]": "timestamp with time zone[]",
        }[field.SQL_TYPE]
    elif isinstance(field, fields.CharField):
        kind = f"character varying({field.max_length})"
    else:
        kind = TYPES[type(field)]
    return kind, field.null, field.generated


async def test_models_and_tables_have_the_same_columns():
    tables = await columns_by_table()
    models = db._connected().context.apps[APP_LABEL].values()
    assert {model.__module__ for model in models} == set(MODEL_MODULES)
    expected = {
        model._meta.db_table: {
            field.source_field or name: column_of(field)
            for name, field in model._meta.fields_map.items()
            if not isinstance(field, RelationalField)
        }
        for model in models
    }
    found = {
        table: {name: column for name, column in columns.items() if (table, name) not in DATABASE_ONLY}
        for table, columns in tables.items()
        if table != "tortoise_migrations"
    }
    assert found == expected


async def test_defaults_of_models_and_of_columns_agree():
    found = await db.rows("""
        select relname, attname, pg_get_expr(adbin, adrelid) as expression
        from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum join pg_class on pg_class.oid = adrelid
        where relnamespace = 'public'::regnamespace and attgenerated = ''""")
    defaults = {(r["relname"], r["attname"]): r["expression"] for r in found}
    for model in db._connected().context.apps[APP_LABEL].values():
        for name, field in model._meta.fields_map.items():
            written = defaults.get((model._meta.db_table, field.source_field or name))
            if written is None or callable(field.default) or name == "tenant_id":
                continue
            value = {"true": True, "false": False}.get(written, written.split("::")[0].strip("'"))
            assert str(value) == str(field.default), f"{model.__name__}.{name}"
