"""Know who asks, for which store, and what they are allowed.

start: configure(secret_key) → tenancy.StoreDirectory(...).listen() → memory.listen()
a request: StoreDirectory.resolve(...) → schemes.authenticate(...) → Actor
"""

from auth.configuration import configure as configure
from auth.credential_cache import changed as changed
