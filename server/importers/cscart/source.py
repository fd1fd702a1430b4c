"""Where an import reads: a shop's REST API, or a folder of saved answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from kernel.errors import OperatorError


class SourceError(Exception):
    """The source doesn't answer one request; the message says why."""


class NotOffered(SourceError):
    """The source doesn't have the record or the list."""


class ForbiddenBySource(SourceError):
    """The source refuses the record or the list, or all requests."""


class SourceUnavailable(OperatorError):
    """The source can't be read at all; the message is for the shop owner."""


class Source(Protocol):
    """Answers requests by their path below `/api/`, such as `products/12`."""

    async def fetch(self, path: str, **query: object) -> Any:
        """Return the parsed answer; raises SourceError and SourceUnavailable."""


@dataclass(frozen=True)
class FolderSource:
    """A folder of saved answers: the list `products.json` or its pages `products.1.json`, …, a record `products/12.json`.

    Lists of a product are `products/12/options.json`.
    """

    folder: Path

    async def fetch(self, path: str, **query: Any) -> Any:
        """Return the saved answer; raises NotOffered for a missing file and SourceError for an unreadable one."""
        if "product_id" in query:
            path = f"products/{query['product_id']}/{path}"
        page = int(query.get("page", 1))
        names = [f"{path}.{page}.json"] if page > 1 else [f"{path}.json", f"{path}.1.json"]
        try:
            file = next((self.folder / name for name in names if (self.folder / name).is_file()), None)
            if file is not None:
                return orjson.loads(file.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            raise SourceError(f"{names[0]} can't be read: {error.strerror}") from error
        except ValueError as error:
            raise SourceError(f"{names[0]} is not JSON: {error}") from error
        if later := [page_file.name for page_file in self.folder.glob(f"{path}.*.json") if _page(page_file) > page]:
            raise SourceError(f"there is no file {names[-1]}, but {min(later)}")
        if page > 1:
            return []  # after the last page
        raise NotOffered(f"there is no file {names[0]}")


def _page(file: Path) -> int:
    """Return the page that a file with a part of a list has, 0 for another file."""
    number = file.name.split(".")[-2]
    return int(number) if number.isascii() and number.isdigit() else 0
