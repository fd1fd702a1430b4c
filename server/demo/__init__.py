"""Create the demo stores: realistic Brazilian stores for browsing, trying requests and testing.

stores        the stores and their users
catalog       what a store sells, read from casa_ipe.toml and serra_alta.toml
customers     customers and reviews
orders        plans the orders and their history
seeding       creates all data through the operations in operations/, with the clock set back
credentials   renews passwords, keys and tokens
apps          a storefront key and an app with tokens
setup         runs all of this, repeatably
"""

DEMO_STORE_ID = "0198f0de-0000-7000-8000-00000000cafe"
