"""Pass what the settings say to the domain: where files are, the addresses of media, and the links in mails. Every process does it once."""

from __future__ import annotations

from functools import partial

from domain import hosts, storage
from domain.bulk import configuration
from domain.mails import order_mails
from domain.media import addresses, uploads
from domain.payments.pagarme import client as pagarme
from domain.payments.sandbox import gateway as sandbox
from domain.shipping import postal_addresses
from kernel.scope import Store
from kernel.settings import Settings
from server.demo import DEMO_STORE_ID


def configure_domain(settings: Settings) -> None:
    """Set the storage, limits of uploads and bulk operations, shared hosts, addresses of media files, links of mails, and the gateways."""
    hosts.configure(settings.shared_hosts)
    storage.configure(storage.open_storage(settings.storage_address))
    addresses.configure(settings.public_url, settings.media_url)
    uploads.configure(settings.media_store_upload_bytes)
    sandbox.configure(settings.has_sandbox)
    pagarme.configure(settings.pagarme_url)
    postal_addresses.configure(settings.zipcode_url)
    order_mails.configure(partial(shows_example_storefront, settings), settings.public_url)
    configuration.configure(
        configuration.BulkConfiguration(
            folder=settings.data_dir / "bulk",
            public_url=settings.public_url,
            daily_rows=settings.bulk_daily_rows,
            upload_bytes=settings.bulk_upload_bytes,
            store_upload_bytes=settings.bulk_store_upload_bytes,
        )
    )


def shows_example_storefront(settings: Settings, store: Store) -> bool:
    """Return whether the store shows the example storefront: as the setting says, by default the demo store in development."""
    if settings.example_storefront is not None:
        return settings.example_storefront
    return not settings.is_production and str(store.public_id) == DEMO_STORE_ID
