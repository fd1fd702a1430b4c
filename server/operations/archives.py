"""Files with the contents of a database or of a store: a zip archive with a manifest, complete or absent.

    with new_archive(path) as archive: …            written next to the path, renamed at the end; nothing is left behind after a failure
    with open_archive(path, kind, form) as (archive, manifest): …

`manifest.json` is the last member: kind, format, version of the program, time (UTC), migrations, and what its kind adds. People edit it.
"""

from __future__ import annotations

import fcntl
import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernel.clock import format_rfc3339, now
from kernel.errors import OperatorError
from models import migrate
from server.embedded_postgres.data_folder import sync_folder
from server.operations.json_forms import Form, check_form
from server.operations.written_files import name_new_file, named_in_errors

FORMAT = 1
MANIFEST = "manifest.json"
CHUNK_BYTES = 1024 * 1024
_FORM: Form = {"format": int, "version": str, "created_at": datetime.fromisoformat, "migrations": [str]}
TABLE_FORM: Form = {"columns": [str], "rows": int, "checksum": str}
# What zipfile raises for a file that is cut off or changed, and a manifest that isn't ours.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    RuntimeError,
)


class ArchiveError(OperatorError):
    """An archive can't be written, read or used here; the text is one line for the operator."""


@contextmanager
def new_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield an archive that only its owner can read and that appears at the path when the block ends without an error.

    Raises ArchiveError if the file exists, or while another command writes it.
    """
    if path.exists():
        raise ArchiveError(f"{path} exists; expected the name of a new file")
    draft = path.with_name(f".{path.name}.part")
    with named_in_errors(path), open(draft, "r+b", opener=_create) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ArchiveError(f"{path} is being written by another command") from error
        # The one that wrote it before has deleted it, and perhaps another has made it again.
        if not _is_at(file.fileno(), draft):
            raise ArchiveError(f"{path} is being written by another command")
        try:
            file.truncate()  # what a killed command left
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
            name_new_file(draft, path)
        except FileExistsError as error:
            raise ArchiveError(f"{path} exists; expected the name of a new file") from error
        finally:
            draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def write_manifest(archive: zipfile.ZipFile, kind: str, **contents: Any) -> dict[str, Any]:
    """Add the manifest, the last member; return it."""
    manifest = {
        "kind": kind,
        "format": FORMAT,
        "version": version("vitrine"),
        "created_at": format_rfc3339(now()),
        **contents,
    }
    archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return manifest


@contextmanager
def open_archive(path: Path, kind: str, form: Form) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Yield an archive and its manifest, which also has what the form says of its kind.

    Raises ArchiveError if it is damaged, of another kind or of a newer version.
    """
    with damage_reported(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with damage_reported(path):
            manifest = json.loads(archive.read(MANIFEST))
            if manifest["kind"] != kind:
                raise ArchiveError(f"{path} is a {manifest['kind']}; expected a {kind}")
            check_form(manifest, _FORM, MANIFEST)
            _reject_newer(path, manifest)
            check_form(manifest, form, MANIFEST)
        yield archive, manifest


def _reject_newer(path: Path, manifest: dict[str, Any]) -> None:
    known = {migration.name for migration in migrate.disk_migrations()}
    newer = [name for name in manifest["migrations"] if name not in known]
    if manifest["format"] > FORMAT or newer:
        reason = f"with the migration {newer[0]}" if newer else f"in format {manifest['format']}"
        raise ArchiveError(
            f"{path} was made by Vitrine {manifest['version']} {reason}; use that version or a newer one"
        )


@contextmanager
def damage_reported(path: object) -> Iterator[None]:
    """Raise ArchiveError for what a damaged archive causes."""
    try:
        yield
    except FileNotFoundError as error:
        raise ArchiveError(f"{path} doesn't exist") from error
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise _damaged(path, error) from error  # a position before the file, or data that bzip2 can't read


def _damaged(path: object, error: Exception) -> ArchiveError:
    return ArchiveError(f"{path} is damaged or not an archive of Vitrine ({error})")


def read_chunks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Read a member in pieces; its check sum is compared at the end. Raises ArchiveError for damage."""
    with damage_reported(archive.filename), archive.open(name) as member:
        while chunk := member.read(CHUNK_BYTES):
            yield chunk
