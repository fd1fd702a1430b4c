from tests.models.test_plans import *
async def test_dbg(shop):
    with entered(shop.scope()):
        for sql in ["select relname, relpages, reltuples, relallvisible from pg_class where relname like any('{products%,orders%,users%}')"]:
            for r in await db.rows(sql): print(tuple(r))
        async with db.transaction(shop.scope()):
            for off in ("on","off"):
                await db.execute(f"set local enable_seqscan={off}")
                for t in ("products","orders","users"):
                    for r in await db.rows(f"explain analyze select count(*) from {t} t where t.tenant_id=$1 and t.deleted_at is null", shop.store.id): print(r[0])
