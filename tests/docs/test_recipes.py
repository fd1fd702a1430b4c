"""The recipes of docs/recipes.md work to the letter: in a copy of the repository, the example of each passes the checks that it names."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.recipes import ROOT, Change, Recipe, copy_repository, recipes

RECIPES = {recipe.title: recipe for recipe in recipes()}
_MAKE = {"make snapshots": ("vitrine schema --write", "vitrine openapi --write")}


def run(command: str, folder: Path) -> None:
    """Run a command of the page in the copy; its modules come before those of the installed repository."""
    for step in _MAKE.get(command, (command,)):
        words = shlex.split(step)
        settings = dict(word.split("=", 1) for word in words if word.startswith("VITRINE_"))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": str(folder), "PATH": f"{folder}/.venv/bin:{environment['PATH']}", **settings}
        done = subprocess.run(
            words[len(settings) :], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step}\n{done.stdout[-5_000:]}\n{done.stderr[-5_000:]}"


@pytest.mark.slow(seconds=25)
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_example_of_a_recipe_passes_the_checks_that_it_names(recipe: Recipe, tmp_path: Path) -> None:
    assert recipe.changes, recipe.title
    assert any("pytest" in command for command in recipe.commands), recipe.title
    copy_repository(tmp_path)
    for change in recipe.changes:
        change.apply(tmp_path)
    for command in recipe.commands:
        run(command, tmp_path)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_example_of_a_recipe_fits_the_files_that_it_changes(recipe: Recipe, tmp_path: Path) -> None:
    for path in {change.path for change in recipe.changes if (ROOT / change.path).exists()}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for change in recipe.changes:
        change.apply(tmp_path)


def test_an_example_applies_where_its_lines_occur_once(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("one = {\n    1,\n}\ntwo = {\n    1,\n}\n")
    Change("page.py", "two = {", ("    1,",), ("    1,", "    2,")).apply(tmp_path)
    assert page.read_text() == "one = {\n    1,\n}\ntwo = {\n    1,\n    2,\n}\n"
    Change("new/page.py", "", (), ("three = 3",)).apply(tmp_path)
    assert (tmp_path / "new/page.py").read_text() == "three = 3\n"
    for after, old in (("", "    1,"), ("", "    3,"), ("four", "    1,")):
        with pytest.raises(ValueError, match=r"docs/recipes\.md changes page\.py"):
            Change("page.py", after, (old,), ()).apply(tmp_path)
