"""The test harness: a PostgreSQL server, stores, sample data, records and HTTP clients (fixtures of all tests).

    async def test_a_product_is_shown(sample):
        response = await sample.get(f"/api/products/{sample.mug}")  # the owner's legacy credentials
        response = await sample.get("/api/orders", by=sample.staff)  # an administrator with `view_orders` only
        response = await sample.get("/graphql", by=sample.vendor_user, auth="bearer")
        response = await sample.post("/api/auth_tokens", {"email": …}, auth=None)

`database`: the server, a database per process and empty stores. `scopes`: scopes of every caller, SQL in a store. `records`: add a record
in any state. `http`: the HTTP client. `connections`: what it sends most requests with. `clients`: clients of users, apps and storefronts.
`sample_store`: stores with sample data, cloned. `domain_store`: an empty store for domain tests. `selection`: time limits and `make
test-fast`. `distribution`: which process runs which tests.
"""
