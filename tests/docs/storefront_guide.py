"""Read docs/building-a-storefront.md: its operations and commands, in order, with what the page says about them.

* A `graphql` block is an operation; each `json` block directly after it holds variables to execute it with.
* A `text` block directly after an operation or a `bash` block is the answer; `…` stands for any text.
* `$Name.member.0.member`, in variables and commands, stands for that member of the answer to the operation `Name`;
  `$mailed_token` and `$totp_code` for what the customer gets by mail and reads in an authenticator app.
* An operation that begins with `# signed in` carries the latest access token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphql import OperationDefinitionNode, parse

from tests.harness.programs import ROOT

PAGE = ROOT / "docs" / "building-a-storefront.md"
SIGNED_IN = "# signed in\n"

_BLOCK = re.compile(r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r"\$(?P<name>[A-Z]\w+)\.(?P<path>\w+(?:\.\w+)*)")


@dataclass
class Block:
    """An operation or a command of the page, with the line where it begins."""

    line: int
    language: str
    text: str
    variables: list[str] = field(default_factory=list)
    expected: str | None = None

    @property
    def operation(self) -> OperationDefinitionNode:
        """Return the only operation of a `graphql` block."""
        (operation,) = [node for node in parse(self.text).definitions if isinstance(node, OperationDefinitionNode)]
        return operation

    @property
    def name(self) -> str:
        node = self.operation.name
        assert node is not None, f"{PAGE.name}:{self.line}: the operation has no name"
        return node.value

    @property
    def is_signed_in(self) -> bool:
        return self.text.startswith(SIGNED_IN)


def read_guide(page: Path = PAGE) -> list[Block]:
    """Return the operations and commands; a `json` or `text` block that belongs to none is an error."""
    content = page.read_text(encoding="utf-8")
    blocks: list[Block] = []
    end = 0
    for match in _BLOCK.finditer(content):
        line, language, text = content[: match.start()].count("\n") + 2, match["language"], match["text"]
        if language in ("graphql", "bash"):
            blocks.append(Block(line, language, text))
        elif language in ("json", "text"):
            assert not content[end : match.start()].strip(), f"{page.name}:{line} belongs to no operation or command"
            if language == "json":
                blocks[-1].variables.append(text)
            else:
                blocks[-1].expected = text
        end = match.end()
    return blocks


def configuration(first_line: str, page: Path = PAGE, language: str = "yaml") -> str:
    """Return the only block of a language that begins with this text."""
    blocks = [match for match in _BLOCK.finditer(page.read_text(encoding="utf-8")) if match["language"] == language]
    (block,) = [block for block in blocks if block["text"].startswith(first_line)]
    return block["text"]


def operations_named(content: str) -> Iterator[str]:
    """Yield the names of all operations in the text, found without the structure of the page."""
    for match in re.finditer(r"^(?:query|mutation|subscription) (\w+)", content, re.MULTILINE):
        yield match[1]


class Answers:
    """The answers so far, by the names of their operations, and what a customer knows besides."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.access_token = ""

    def add(self, name: str, data: Mapping[str, Any]) -> None:
        self.data[name] = data
        for value in data.values():
            if isinstance(value, dict) and value.get("access_token"):
                self.access_token = value["access_token"]

    def find(self, name: str, path: str) -> Any:
        value = self.data[name]
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value

    def fill_text(self, text: str) -> str:
        """Replace the references in a command."""
        return _REFERENCE.sub(lambda match: str(self.find(match["name"], match["path"])), text)

    def fill(self, value: Any, known: Mapping[str, str]) -> Any:
        """Replace the references in variables, names of members included."""
        if isinstance(value, dict):
            return {self.fill(name, known): self.fill(member, known) for name, member in value.items()}
        if isinstance(value, list):
            return [self.fill(item, known) for item in value]
        if isinstance(value, str) and (match := _REFERENCE.fullmatch(value)):
            return self.find(match["name"], match["path"])
        if isinstance(value, str) and value.startswith("$"):
            return known[value[1:]]
        return value
