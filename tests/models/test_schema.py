"""The database schema follows ARCHITECTURE.md: every store table has row-level security, composite keys and indexes."""

from __future__ import annotations

import pytest
from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField
from tortoise.fields.relational import RelationalField

from models import MODEL_MODULES
from models.connection import database as db
from tests.harness.orm import all_models

# Columns without a model field, because they are never read.
DATABASE_ONLY = {("products", "search"), ("users", "search")}
# Tables without a model.
WITHOUT_MODEL = {
    "tortoise_migrations", "number_counters", "catalogue_versions", "search_entries", "search_words", "unlisted_products", "bulk_results",
    "event_feeds", "stock_changes", "order_mails", "store_logos", "ledger_queue", "sandbox_charges", "store_usage",
}  # fmt: skip
# Store tables that are no records: they have no ids, and another key.
WITHOUT_IDS = {
    "number_counters": ["tenant_id", "entity"],
    "catalogue_versions": ["tenant_id", "slot"],
    "search_entries": ["tenant_id", "product_id"],
    "search_words": ["tenant_id", "id"],
    "unlisted_products": ["tenant_id", "product_id"],
    "bulk_results": ["tenant_id", "operation_id", "first_line"],
    "event_feeds": ["tenant_id"],
    "stock_changes": ["tenant_id", "id"],
    "order_mails": ["tenant_id", "id"],
    "store_logos": ["tenant_id"],
    "ledger_queue": ["tenant_id", "order_id"],
    "sandbox_charges": ["tenant_id", "charge_id"],
    "store_usage": ["tenant_id", "hour"],
}
# Platform tables, which belong to no store.
PLATFORM_TABLES = {
    "tenants", "store_hosts", "platform_users", "signing_keys", "signin_counts", "job_runs", "tortoise_migrations",
    "apps", "hash_keys",
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
    records = await db.fetch("""
        select relname from pg_class join pg_attribute on attrelid = pg_class.oid
        where attname = 'tenant_id' and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
        order by 1""")
    return [record["relname"] for record in records]


async def test_every_table_is_a_store_table_or_a_listed_platform_table():
    records = await db.fetch("""
        select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace""")
    assert {record["relname"] for record in records} == {*await store_tables(), *PLATFORM_TABLES}


async def test_every_store_table_has_forced_row_level_security():
    records = await db.fetch(
        """
        select relname, relrowsecurity, relforcerowsecurity from pg_class
        where relname = any($1) and relkind = 'r'""",
        await store_tables(),
    )
    assert [r["relname"] for r in records if not (r["relrowsecurity"] and r["relforcerowsecurity"])] == [], (
        "call vitrine_keep_apart in the migrations of these tables"
    )


async def test_every_store_table_is_planned_for_stores_of_the_same_size():
    records = await db.fetch("""
        select attrelid::regclass::text as name from pg_attribute
        where attname = 'tenant_id' and attoptions = '{n_distinct=-0.0002}' order by 1""")
    assert [record["name"] for record in records] == await store_tables()


async def test_every_store_table_has_the_own_store_policy():
    records = await db.fetch("select * from pg_policies where schemaname = 'public' and policyname = 'own_store'")
    policies = {record["tablename"]: record for record in records}
    assert sorted(policies) == await store_tables(), "call vitrine_keep_apart in the migration of each table of a store"
    for table, policy in policies.items():
        assert (policy["permissive"], policy["roles"], policy["cmd"]) == ("PERMISSIVE", ["public"], "ALL"), table
        assert policy["qual"] == policy["with_check"] == STORE_EXPRESSION, table


async def owner_inherits() -> bool:
    """Return whether the server is older than PostgreSQL 16, where a role inherits every role it may act as."""
    return int(await db.fetchval("show server_version_num")) < 160_000


async def test_policies_across_stores_do_not_apply_to_an_owner_that_inherits_them():
    inherits = await owner_inherits()
    records = await db.fetch("select distinct qual from pg_policies where policyname = 'across_stores'")
    worker_only = "(CURRENT_USER = 'vitrine_worker'::name)"
    assert [record["qual"] for record in records] == [worker_only if inherits else "true"]
    records = await db.fetch("select * from pg_policies where policyname = 'owner_own_store'")
    assert {record["tablename"] for record in records} == ({"products", "users"} if inherits else set())
    for policy in records:
        assert (policy["permissive"], policy["roles"], policy["cmd"]) == (
            "RESTRICTIVE",
            ["vitrine_owner"],
            "SELECT",
        )
        assert policy["qual"] == STORE_EXPRESSION


async def test_the_only_other_policies_are_for_platform_tables_the_worker_and_search():
    records = await db.fetch("""
        select tablename, policyname, roles, cmd from pg_policies
        where schemaname = 'public' and policyname not in ('own_store', 'owner_own_store', 'backup')""")
    assert {(r["tablename"], r["policyname"], *r["roles"], r["cmd"]) for r in records} == {
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
                "wrong_attempts", "lockouts", "mails", "carts", "audit_entries", "bulk_operations", "stock_changes",
                "media_files", "option_files",
                "order_mails", "ledger_queue", "payments", "payment_refunds", "sandbox_charges", "stock_notices", "store_usage",
                "warehouses", "warehouse_stock", "catalogue_versions",
            )
        ),
    }  # fmt: skip


async def test_the_backup_role_reads_the_rows_of_every_store_table_and_writes_none():
    policies = await db.fetch("select tablename, roles, cmd from pg_policies where policyname = 'backup'")
    assert {(r["tablename"], *r["roles"], r["cmd"]) for r in policies} == {
        (table, "vitrine_backup", "SELECT") for table in await store_tables()
    }
    rights = await db.fetch("""
        select relkind, array_agg(distinct a.privilege_type) as privileges
        from pg_class, aclexplode(relacl) a where a.grantee = 'vitrine_backup'::regrole group by relkind""")
    assert {r["relkind"]: r["privileges"] for r in rights} == {b"r": ["SELECT"], b"S": ["SELECT"]}


async def test_no_application_role_bypasses_row_level_security_or_can_log_in():
    records = await db.fetch("""
        select rolname, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole from pg_roles
        where rolname like 'vitrine\\_%' and rolname <> 'vitrine_owner'""")
    assert {r["rolname"] for r in records} == {"vitrine_app", "vitrine_worker", "vitrine_search", "vitrine_backup"}
    assert [r["rolname"] for r in records if any(tuple(r)[1:])] == []


async def test_the_owner_may_act_as_the_other_roles_and_does_not_inherit_them():
    inherits = await owner_inherits()
    for role in ("vitrine_app", "vitrine_worker", "vitrine_search", "vitrine_backup"):
        assert await db.fetchval("select pg_has_role('vitrine_owner', $1, 'USAGE')", role) is inherits, role
        may_act = "MEMBER" if inherits else "SET"
        assert await db.fetchval("select pg_has_role('vitrine_owner', $1, $2)", role, may_act), role


async def test_unique_keys_of_store_tables_begin_with_tenant_id():
    records = await db.fetch(
        """
        select indrelid::regclass::text as table, indexrelid::regclass::text as index, indisprimary,
               array(select attname::text from unnest(indkey) with ordinality k(attnum, n)
                     left join pg_attribute a on a.attrelid = indrelid and a.attnum = k.attnum order by n) as columns
        from pg_index where indisunique and indrelid::regclass::text = any($1)""",
        await store_tables(),
    )
    assert [r["index"] for r in records if r["columns"][0] != "tenant_id"] == []
    primary = {r["table"]: r["columns"] for r in records if r["indisprimary"]}
    assert primary == {table: ["tenant_id", "id"] for table in await store_tables()} | WITHOUT_IDS
    with_public_id = {r["table"] for r in records if r["columns"] == ["tenant_id", "public_id"]}
    assert with_public_id == {*await store_tables()} - WITHOUT_IDS.keys()


FOREIGN_KEYS = """
    select conname, conrelid::regclass::text as table, confrelid::regclass::text as target, confdeltype::text as on_delete,
           conrelid as table_oid, conkey,
           array(select attname::text from unnest(conkey) with ordinality k(attnum, n)
                 join pg_attribute a on a.attrelid = conrelid and a.attnum = k.attnum order by n) as columns,
           array(select attname::text from unnest(confkey) with ordinality k(attnum, n)
                 join pg_attribute a on a.attrelid = confrelid and a.attnum = k.attnum order by n) as target_columns
    from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace"""


async def test_foreign_keys_between_store_tables_include_tenant_id():
    tables = await store_tables()
    keys = [r for r in await db.fetch(FOREIGN_KEYS) if r["table"] in tables]
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
    keys = await db.fetch(FOREIGN_KEYS)
    indexes = await db.fetch("""
        select indrelid as table_oid, indkey::int2[] as columns, pg_get_expr(indpred, indrelid) as predicate
        from pg_index where indisvalid""")
    unindexed = []
    for key in keys:
        columns = set(key["conkey"])
        unindexed.append(key["conname"])
        for index in indexes:
            leading = set(list(index["columns"])[: len(columns)])
            # A partial index is sufficient if it excludes only rows where the foreign key is null.
            covers = index["predicate"] is None or index["predicate"] == f"({key['columns'][-1]} IS NOT NULL)"
            if index["table_oid"] == key["table_oid"] and leading == columns and covers:
                unindexed.pop()
                break
    assert unindexed == []


async def test_every_constraint_has_a_descriptive_name():
    records = await db.fetch("""
        select conname, conrelid::regclass::text as table, contype::text from pg_constraint
        where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'c', 'f')
          and conrelid::regclass::text <> 'tortoise_migrations'""")
    endings = {"p": "_pkey", "u": "_key", "f": "_fkey", "c": ""}
    for record in records:
        assert record["conname"].startswith(record["table"] + "_"), record["conname"]
        assert record["conname"].endswith(endings[record["contype"]]), record["conname"]
        # Names such as `products_check1` are generated by PostgreSQL.
        assert not record["conname"].rstrip("0123456789").endswith("_check"), record["conname"]


async def columns_by_table() -> dict[str, dict[str, tuple[str, bool, bool]]]:
    records = await db.fetch("""
        select relname, attname, format_type(atttypid, atttypmod) as type, attnotnull,
               attgenerated <> '' or attidentity <> '' or attname = 'id' and exists (
                   select from pg_trigger where tgrelid = attrelid and tgname = 'take_number') as generated
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relkind = 'r' and relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped""")
    tables: dict[str, dict[str, tuple[str, bool, bool]]] = {}
    for r in records:
        tables.setdefault(r["relname"], {})[r["attname"]] = (r["type"], not r["attnotnull"], r["generated"])
    return tables


def column_of(field: fields.Field) -> tuple[str, bool, bool]:
    if isinstance(field, ArrayField):
        type_ = {
            "TEXT[]": "text[]",
            "BIGINT[]": "bigint[]",
            "TIMESTAMPTZ[]": "timestamp with time zone[]",
        }[field.SQL_TYPE]
    elif isinstance(field, fields.CharField):
        type_ = f"character varying({field.max_length})"
    else:
        type_ = TYPES[type(field)]
    return type_, field.null, field.generated


async def test_models_and_tables_have_the_same_columns():
    tables = await columns_by_table()
    models = all_models()
    assert {model.__module__ for model in models} == set(MODEL_MODULES)
    expected = {
        (model._meta.db_table, field.source_field or name): column_of(field)
        for model in models
        for name, field in model._meta.fields_map.items()
        if not isinstance(field, RelationalField)
    }
    actual = {
        (table, name): column
        for table, columns in tables.items()
        for name, column in columns.items()
        if table not in WITHOUT_MODEL and (table, name) not in DATABASE_ONLY
    }
    # A column with its type, whether it is nullable and whether it is generated.
    different = [
        f"{table}.{name}: {actual.get((table, name))} of the migrations, {expected.get((table, name))} of the model"
        for table, name in sorted(actual.keys() | expected.keys())
        if actual.get((table, name)) != expected.get((table, name))
    ]
    assert different == [], "a column belongs to models/tables and to a migration in models/migrations/sql alike"


async def test_defaults_of_models_and_of_columns_agree():
    records = await db.fetch("""
        select relname, attname, pg_get_expr(adbin, adrelid) as expression
        from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum join pg_class on pg_class.oid = adrelid
        where relnamespace = 'public'::regnamespace and attgenerated = ''""")
    defaults = {(r["relname"], r["attname"]): r["expression"] for r in records}
    for model in all_models():
        for name, field in model._meta.fields_map.items():
            expression = defaults.get((model._meta.db_table, field.source_field or name))
            if expression is None or callable(field.default) or name == "tenant_id":
                continue
            value = {"true": True, "false": False}.get(expression, expression.split("::")[0].strip("'"))
            assert str(value) == str(field.default), f"{model.__name__}.{name}"
