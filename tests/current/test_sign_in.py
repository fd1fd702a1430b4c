from tests.current.kit import Caller


async def test_login(visitor: Caller, admin: Caller) -> None:
    answer = await admin.get("/api/v1/auth/me")
    print(answer)
    assert answer.status == 200
    answer = await admin.get("/api/v1/admin/products")
    print(answer)
