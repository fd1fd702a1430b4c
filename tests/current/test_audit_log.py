"""`/api/v1/admin/audit-log`: who changed what."""

from tests.harness.records import UNKNOWN_ID

PATH = "/api/v1/admin/audit-log"
KEYS = {
    "id", "at", "action", "actor_kind", "user_id", "subject_type", "subject_id", "details", "ip_address", "request_id",
}  # fmt: skip


async def test_entries_are_listed_newest_first_with_their_actor(admin):
    made = await admin.post("/graphql", {"query": 'mutation { api_key_create(name: "ERP") { api_key { id } } }'})
    key = made.body["data"]["api_key_create"]["api_key"]["id"]
    await admin.post("/graphql", {"query": f'mutation {{ api_key_revoke(id: "{key}") {{ id }} }}'})
    answer = await admin.get(PATH, subject_id=key)
    assert answer.status == 200
    assert set(answer.body) == {"entries", "total", "page", "per_page"}
    revoked, created = answer.body["entries"]
    assert set(created) == KEYS
    assert (created["action"], revoked["action"]) == ("api_key.created", "api_key.revoked")
    assert (created["actor_kind"], created["user_id"]) == ("admin", admin.user.id)
    assert created["request_id"] == made.headers["X-Request-Id"]
    single = await admin.get(f"{PATH}/{created['id']}")
    assert single.body == created


async def test_filters_narrow_the_log(admin):
    for name in ("a", "b"):
        await admin.post("/graphql", {"query": f'mutation {{ api_key_create(name: "{name}") {{ key }} }}'})
    assert (await admin.get(PATH, action="api_key.created")).body["total"] == 2
    assert (await admin.get(PATH, action="nothing.done")).body["entries"] == []
    assert (await admin.get(PATH, user_id=UNKNOWN_ID)).body["total"] == 0
    assert (await admin.get(PATH, created_before="2001-01-01")).body["total"] == 0
    assert (await admin.get(PATH, created_before="yesterday")).status == 400


async def test_the_audit_log_is_read_only_and_requires_view_settings(admin, new_client):
    clerk = await new_client("view_orders")
    rejected = await clerk.get(PATH)
    assert (rejected.status, rejected.body["error"]) == (403, "insufficient privileges")
    for method in ("POST", "DELETE"):
        answer = await admin.request(method, PATH, {} if method == "POST" else None)
        assert (answer.status, answer.raw) == (405, b""), method
    assert (await admin.get(f"{PATH}/{UNKNOWN_ID}")).status == 404


async def test_entries_of_another_store_are_not_found(admin, new_client, new_store):
    other_admin = await new_client("view_settings", "manage_settings", store=await new_store())
    await other_admin.post("/graphql", {"query": 'mutation { api_key_create(name: "x") { api_key { id } } }'})
    foreign_entry = (await other_admin.get(PATH)).body["entries"][0]
    assert (await admin.get(f"{PATH}/{foreign_entry['id']}")).status == 404
    assert foreign_entry["id"] not in [entry["id"] for entry in (await admin.get(PATH)).body["entries"]]
