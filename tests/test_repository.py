"""Check the files themselves: the layout, sizes, words that must not occur, lock files, and the commands of the README."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CLIENT_PROJECT = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-tracing.lock",
    "requirements-node.lock",
    "tests/clients/ariadne/requirements.lock",
    "tests/clients/typed/requirements.lock",
)

LAYERS = {"kernel", "models", "auth", "domain", "schema", "resolvers", "rest_facade", "server"}
TOP_LEVEL_FOLDERS = LAYERS | {"backoffice", "tests", "bench", "clients", "deploy", "docs", "examples", ".ci"}
TOP_LEVEL_FILES = {
    *(
        ".dockerignore",
        ".editorconfig",
        ".gitattributes",
        ".gitignore",
        "Containerfile",
        "Makefile",
        "Procfile",
        "pyproject.toml",
    ),
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"),
    *("requirements.lock", "requirements-dev.lock", "requirements-node.lock", "requirements-tracing.lock"),
}
CLIENT = ROOT / "clients" / "python" / "vitrine_client"
VAGUE_NAMES = {"utils", "util", "helpers", "common", "misc"}

LARGEST_FILE_BYTES = 1_000_000
# A module past about 400 lines probably has two responsibilities. Past this length it needs a reason below.
LONGEST_MODULE_LINES = 500
LONGER_MODULES: dict[str, str] = {}
# One in twenty of them may be longer.
LONG_MODULE_LINES, LONG_FUNCTION_LINES = 350, 25

# Joined at run time, since this file must not contain them either.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
    )
)


@functools.cache
def files() -> tuple[Path, ...]:
    """Return the files that git tracks or would add; outside a git checkout, all files that were not generated."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        return tuple(files_without_git())
    paths = {ROOT / name for name in names if name}
    return tuple(sorted(path for path in paths if path.is_file() and not path.is_symlink()))


def files_without_git() -> list[Path]:
    generated = {".git", ".venv", ".vitrine", "__pycache__", "node_modules", "built", ".hypothesis"}
    paths: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in generated and not name.endswith("_cache")]
        paths.extend(Path(folder, name) for name in names if not name.endswith(".pyc"))
    return sorted(paths)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def modules() -> list[Path]:
    return [
        path
        for path in files()
        if path.suffix == ".py" and (path.relative_to(ROOT).parts[0] in LAYERS or path.is_relative_to(CLIENT))
    ]


def pins(lock: str) -> dict[str, str]:
    """Return the pinned requirement of each package of a lock file."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    requirements = re.findall(r"^([A-Za-z0-9][^\s;]*==[^\s;]+(?: ;[^\\\n]*)?)", text, flags=re.MULTILINE)
    return {canonicalize_name(Requirement(line).name): line.strip() for line in requirements}


def locked_version(pin: str) -> str:
    return next(iter(Requirement(pin).specifier)).version


# --- Layout ------------------------------------------------------------------------------------------------


def test_the_repository_has_the_planned_top_level_folders_and_no_others():
    folders = {path.relative_to(ROOT).parts[0] for path in files() if path.parent != ROOT}
    assert folders <= TOP_LEVEL_FOLDERS


def test_no_command_or_test_has_left_a_file_at_the_root():
    assert {path.name for path in files() if path.parent == ROOT} <= TOP_LEVEL_FILES


def test_every_layer_is_packaged_type_checked_and_linted():
    assert set(PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == LAYERS
    assert set(PYPROJECT["tool"]["importlinter"]["root_packages"]) == LAYERS
    assert set(PYPROJECT["tool"]["mypy"]["files"]) >= LAYERS


def test_the_typed_client_imports_only_what_is_installed_with_it():
    imported = {
        name.partition(".")[0]
        for path in files()
        if path.suffix == ".py" and path.is_relative_to(CLIENT)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
    }
    required = {Requirement(line).name for line in CLIENT_PROJECT["dependencies"]}
    assert imported - sys.stdlib_module_names == required | {CLIENT.name}


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in modules()}
    assert [relative(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_no_module_has_a_vague_name():
    vague = [relative(path) for path in modules() if {path.stem, path.parent.name} & VAGUE_NAMES]
    assert vague == []


# --- Sizes ----------------------------------------------------------------------------------------------


def test_no_file_is_too_large_to_review():
    sizes = {relative(path): path.stat().st_size for path in files()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FILE_BYTES} == {}


def test_no_module_is_too_long():
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    longer = {name: length for name, length in lengths.items() if length > LONGEST_MODULE_LINES}
    assert {name: length for name, length in longer.items() if name not in LONGER_MODULES} == {}


def test_of_files_and_functions_one_in_twenty_is_long():
    sources = [path.read_text(encoding="utf-8") for path in modules() if not path.is_relative_to(CLIENT)]
    functions = [
        node.end_lineno - node.lineno + 1
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    assert _length_of_most(len(source.splitlines()) for source in sources) < LONG_MODULE_LINES
    assert _length_of_most(functions) < LONG_FUNCTION_LINES


def _length_of_most(lengths: Iterable[int]) -> int:
    """Return the length above which one in twenty is."""
    ordered = sorted(lengths)
    return ordered[len(ordered) * 19 // 20]


# --- Forbidden content ---------------------------------------------------------------------------------------


def test_no_file_names_the_host_of_a_package_registry():
    hosts = re.compile("|".join(rf"(?<![\w-]){re.escape(host)}(?![\w-])" for host in REGISTRY_HOSTS).encode())
    mentions = [
        f"{relative(path)}: {match.group().decode()}" for path in files() if (match := hosts.search(path.read_bytes()))
    ]
    assert mentions == []


def test_no_file_contains_the_markers_of_an_unfinished_merge():
    markers = re.compile(rb"^(<{7} |>{7} )", flags=re.MULTILINE)
    assert [relative(path) for path in files() if markers.search(path.read_bytes())] == []


# --- Lock files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_pins_and_hashes_everything_and_holds_nothing_else(lock):
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for line, following in zip(requirements, [*requirements[1:], ""], strict=True):
        if line.startswith("    --hash="):
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)
        else:
            assert re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*==\S+( ;.*)? \\$", line), line
            assert following.startswith("    --hash=sha256:"), f"no hash: {line}"


def test_the_lock_files_pin_every_requirement_of_the_project():
    groups = PYPROJECT["dependency-groups"]
    for lock, required in (
        ("requirements.lock", [*PYPROJECT["project"]["dependencies"], *groups["build"]]),
        ("requirements-dev.lock", [*PYPROJECT["project"]["dependencies"], *groups["build"], *groups["dev"]]),
    ):
        locked = pins(lock)
        for requirement in map(Requirement, required):
            pin = locked.get(canonicalize_name(requirement.name))
            assert pin is not None, f"{requirement} is not in {lock}: make lock"
            assert locked_version(pin) in requirement.specifier, f"{pin} in {lock} is not {requirement}: make lock"


def test_the_development_lock_pins_the_same_versions_as_the_other():
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


# --- Commands ------------------------------------------------------------------------------


def test_ci_runs_the_commands_of_the_readme():
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    script = ci.read_text(encoding="utf-8")
    assert "make --no-print-directory test" in script
    assert "make --no-print-directory check" in script


def test_make_alone_lists_every_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert phony is not None
    documented = set(re.findall(r"^([a-z-]+):.* ## \S", text, flags=re.MULTILINE))
    assert documented == set(phony.group(1).split()) - {"FORCE"}


def test_each_version_of_the_changelog_has_each_heading_once():
    versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    for version in versions:
        headings = re.findall(r"^### (.+)$", version, flags=re.MULTILINE)
        assert len(headings) == len(set(headings)), version.splitlines()[0]


# --- Tests ---------------------------------------------------------------------------------


def test_an_assertion_in_a_loop_names_its_case():
    unnamed = [
        f"{relative(path)}:{line}"
        for path in files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests")
        for line in unnamed_assertions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert unnamed == [], "without a name of the loop in the assertion or its message, a failure doesn't show its case"


def unnamed_assertions(node: ast.AST, loops: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield the lines of assertions in loops that name no variable of a loop around them."""
    for child in ast.iter_child_nodes(node):
        inner = loops
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = frozenset()
        elif isinstance(child, ast.For | ast.AsyncFor):
            inner = loops | names_in(child.target)
        elif isinstance(child, ast.Assert) and loops and not loops & names_in(child):
            yield child.lineno
        yield from unnamed_assertions(child, inner)


def names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))


AIOHTTP_INTERNALS = ROOT / "rest_facade" / "aiohttp_internals.py"
# Their documentation lists every name; those of other modules may change with any release.
DOCUMENTED_MODULES = {"aiohttp", "aiohttp.abc", "aiohttp.typedefs"}
PRIVATE_NAME = re.compile(r"_[a-z]\w*")
BY_NAME = {"getattr", "setattr", "hasattr", "delattr", "attrgetter"}


def test_one_module_alone_uses_what_aiohttp_does_not_document():
    uses = [
        f"{relative(path)}:{line}: {name}"
        for path in files()
        if relative(path).startswith(("server/", "rest_facade/")) and path.suffix == ".py" and path != AIOHTTP_INTERNALS
        for line, name in internals_of_aiohttp(path)
    ]
    assert uses == [], f"use the documented interface, or add the name to {AIOHTTP_INTERNALS.name} with a test"


def internals_of_aiohttp(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and name of what a module imports from undocumented modules of aiohttp, and of its objects' private attributes."""
    source = path.read_text(encoding="utf-8")
    if "aiohttp" not in source:
        return
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "aiohttp":
            if node.module not in DOCUMENTED_MODULES:
                yield node.lineno, str(node.module)
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("_"))
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names if each.name.startswith("aiohttp."))
        elif (
            isinstance(node, ast.Attribute)
            and PRIVATE_NAME.match(node.attr)
            and ast.unparse(node.value) not in ("self", "cls")
        ):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in BY_NAME:
            yield from (
                (node.lineno, each.value)
                for each in node.args
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and PRIVATE_NAME.match(each.value)
            )
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            private = private_attributes(getattr(importlib.import_module(module), node.name))
            yield from ((line, name) for line, name in own_attributes(node) if name in private)


def private_attributes(cls: type) -> frozenset[str]:
    """Return the private attributes and methods that a class inherits from classes of aiohttp."""
    bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "aiohttp"]
    return frozenset(name for base in bases for name in re.findall(r"\b_[a-z]\w*", inspect.getsource(base)))


def own_attributes(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Yield the line and name of the attributes of itself that a class uses, and of those and the methods that it defines."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in ("self", "cls"):
            yield each.lineno, each.attr
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.lineno, each.name
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            yield from ((each.lineno, target.id) for target in targets if isinstance(target, ast.Name))
