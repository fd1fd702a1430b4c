"""What must hold of the files themselves: where they lie, how large they are, what they may not mention, that locks lock."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-node.lock")

FLOORS = {"kernel", "models", "auth", "domain", "schema", "resolvers", "rest_facade", "server"}
TOP_LEVEL_FOLDERS = FLOORS | {"tests", "bench", "docs", ".ci"}
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "common", "misc"}

LARGEST_FILE_BYTES = 1_000_000
# A file past about 400 lines probably answers two questions. This is the line past which somebody must say why.
LONGEST_MODULE_LINES = 500
LONGER_FOR_A_REASON: dict[str, str] = {}

# Put together here, for this file may not name them either.
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
    """Give what is committed or would be, or, outside a git checkout, what lies here and no program made."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        return tuple(files_without_git())
    paths = {ROOT / name for name in names if name}
    return tuple(sorted(path for path in paths if path.is_file() and not path.is_symlink()))


def files_without_git() -> list[Path]:
    made = {".git", ".venv", ".vitrine", "__pycache__", "node_modules", "built", ".hypothesis"}
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in made and not name.endswith("_cache")]
        found.extend(Path(folder, name) for name in names if not name.endswith(".pyc"))
    return sorted(found)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def modules() -> list[Path]:
    return [path for path in files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in FLOORS]


def pins(lock: str) -> dict[str, str]:
    """Read a lock file as package name → the whole requirement it pins."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    found = re.findall(r"^([A-Za-z0-9][^\s;]*==[^\s;]+(?: ;[^\\\n]*)?)", text, flags=re.MULTILINE)
    return {canonicalize_name(Requirement(line).name): line.strip() for line in found}


def locked_version(pin: str) -> str:
    return next(iter(Requirement(pin).specifier)).version


# --- Where things lie ------------------------------------------------------------------------------------------------


def test_the_house_has_the_rooms_of_its_plan_and_no_others():
    folders = {path.relative_to(ROOT).parts[0] for path in files() if path.parent != ROOT}
    assert folders <= TOP_LEVEL_FOLDERS


def test_every_floor_is_packaged_checked_and_linted():
    assert set(PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == FLOORS
    assert set(PYPROJECT["tool"]["importlinter"]["root_packages"]) == FLOORS
    assert set(PYPROJECT["tool"]["mypy"]["files"]) >= FLOORS


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in modules()}
    assert [relative(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_no_module_has_a_name_that_says_nothing():
    vague = [relative(path) for path in modules() if {path.stem, path.parent.name} & NAMES_THAT_SAY_NOTHING]
    assert vague == []


# --- How large they are ----------------------------------------------------------------------------------------------


def test_no_file_is_too_large_to_review():
    sizes = {relative(path): path.stat().st_size for path in files()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FILE_BYTES} == {}


def test_no_module_is_too_long_to_answer_one_question():
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    longer = {name: length for name, length in lengths.items() if length > LONGEST_MODULE_LINES}
    assert {name: length for name, length in longer.items() if name not in LONGER_FOR_A_REASON} == {}


# --- What they may not mention ---------------------------------------------------------------------------------------


def test_no_file_names_the_host_of_a_package_registry():
    said = re.compile("|".join(rf"(?<![\w-]){re.escape(host)}(?![\w-])" for host in REGISTRY_HOSTS).encode())
    found = [
        f"{relative(path)}: {match.group().decode()}"
        for path in files()
        if (match := said.search(path.read_bytes()))
    ]
    assert found == []


def test_no_file_carries_the_marks_of_an_unfinished_merge():
    marks = re.compile(rb"^(<{7} |>{7} )", flags=re.MULTILINE)
    assert [relative(path) for path in files() if marks.search(path.read_bytes())] == []


# --- That locks lock -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_pins_and_hashes_everything_and_says_nothing_else(lock):
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    spoken = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for line, following in zip(spoken, [*spoken[1:], ""], strict=True):
        if line.startswith("    --hash="):
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)
        else:
            assert re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*==\S+( ;.*)? \\$", line), line
            assert following.startswith("    --hash=sha256:"), f"no hash: {line}"


def test_the_lock_file_holds_a_version_of_everything_the_project_asks_for():
    groups = PYPROJECT["dependency-groups"]
    for lock, asked in (
        ("requirements.lock", [*PYPROJECT["project"]["dependencies"], *groups["build"]]),
        ("requirements-dev.lock", [*PYPROJECT["project"]["dependencies"], *groups["build"], *groups["dev"]]),
    ):
        locked = pins(lock)
        for requirement in map(Requirement, asked):
            pin = locked.get(canonicalize_name(requirement.name))
            assert pin is not None, f"{requirement} is not in {lock}: make lock"
            assert locked_version(pin) in requirement.specifier, (
                f"{pin} in {lock} is not {requirement}: make lock"
            )


def test_the_development_lock_holds_all_of_the_other_at_the_same_versions():
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


# --- That the two commands and CI agree ------------------------------------------------------------------------------


def test_ci_runs_the_commands_of_the_readme():
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    said = ci.read_text(encoding="utf-8")
    assert "make --no-print-directory test" in said
    assert "make --no-print-directory check" in said


def test_make_alone_lists_every_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert phony is not None
    explained = set(re.findall(r"^([a-z]+):.* ## \S", text, flags=re.MULTILINE))
    assert explained == set(phony.group(1).split()) - {"FORCE"}
