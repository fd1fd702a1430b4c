"""Keep keys derived from a secret key when that is removed (docs/deploy.md#rotate-the-secret-key).

A hash can't be made again under another key, nor can what others hold. So that recovery codes, order tokens, repeated requests, cursors of
the event feed and tokens in mails outlive the secret key, the keys derived for their purposes are stored, encrypted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from auth.secrets import DecryptionError, decrypt, derived_key, encrypt, key_id, secret_keys, use_secret_keys
from kernel import logging
from models.connection import database

PURPOSE = "hash-keys"
_LOAD = "select purpose, key_id, sealed_key from hash_keys order by id"
_RETAIN = """
    insert into hash_keys (purpose, key_id, sealed_key) select * from unnest($1::text[], $2::bytea[], $3::bytea[])
    on conflict (purpose, key_id) do nothing
"""


async def load() -> None:
    """Configure the retained keys in this process; one that no secret key of the ring decrypts is logged and left out."""
    if await database.fetchval("select to_regclass('hash_keys')") is None:
        return  # the migration is pending, so no secret key was ever removed
    retained = []
    for row in await database.fetch(_LOAD):
        try:
            retained.append((row["purpose"], decrypt(PURPOSE, row["sealed_key"])))
        except DecryptionError as error:
            logging.failure("a retained key can't be decrypted", error, key_id=row["key_id"].hex())
    use_secret_keys(replace(secret_keys(), retained_keys=tuple(retained)))


async def retain(purposes: Iterable[str]) -> None:
    """Store the keys of the fallbacks for the purposes, and load them."""
    keys = [(purpose, fallback) for purpose in purposes for fallback in secret_keys().fallbacks]
    async with database.cross_store_connection() as platform:
        await platform.execute(
            _RETAIN,
            [purpose for purpose, _ in keys],
            [key_id(fallback) for _, fallback in keys],
            [encrypt(PURPOSE, derived_key(fallback, purpose)) for purpose, fallback in keys],
        )
    await load()


async def forget() -> None:
    """Delete the retained keys: what was made under an earlier secret key isn't valid any more once that isn't configured."""
    async with database.cross_store_connection() as platform:
        await platform.execute("delete from hash_keys")
    await load()
