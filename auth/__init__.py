"""Authenticate callers, resolve their store, and check what they may do.

start: configure(secret_key) → CachedStoreResolver(...).listen() → credential_cache.listen()
a request: CachedStoreResolver.resolve(...) → schemes.authenticate(...) → Actor
"""

from auth.configuration import configure as configure
