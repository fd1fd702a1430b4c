import json, time

async def test_smoke(shop, new_shop):
    t=time.perf_counter(); await new_shop(); print("new shop", time.perf_counter()-t)
    for path in ("/api/products","/api/orders","/api/users","/api/categories", f"/api/products/{shop.mug}", f"/api/orders/{shop.order}", f"/api/orders/{shop.shared_order}", f"/api/orders/{shop.guest_order}", f"/api/users/{shop.caio}", f"/api/categories/{shop.kitchen}", f"/api/products/{shop.mug}/features", f"/api/products/{shop.mug}/discussions", f"/api/categories/{shop.home}/products", f"/api/users/{shop.caio}/usergroups", "/api/products?status=active&q=caneca"):
        a = await shop.get(path)
        print(path, a.status, a.statements); print(json.dumps(a.body, indent=1, ensure_ascii=False)[:6000])
        assert a.status == 200
