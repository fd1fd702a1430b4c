"""Open the storage of files that the settings name."""

from __future__ import annotations

from domain import storage
from domain.bulk import configuration
from kernel.settings import Settings


def configure_files(settings: Settings) -> None:
    """Set the storage of the process, and what callers may use of bulk operations."""
    storage.configure(storage.open_storage(storage_url(settings)))
    configuration.configure(
        configuration.BulkConfiguration(
            folder=settings.data_dir / "bulk",
            public_url=settings.public_url,
            daily_rows=settings.bulk_daily_rows,
            upload_bytes=settings.bulk_upload_bytes,
            store_upload_bytes=settings.bulk_store_upload_bytes,
        )
    )


def storage_url(settings: Settings) -> str:
    """Return the address of the storage, by default a folder in the data directory."""
    return settings.storage_url or (settings.data_dir.absolute() / "storage").as_uri()
