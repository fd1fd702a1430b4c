"""Build the packages of the typed clients: `python -m clients.build [FOLDER]`, by default into .vitrine/build/packages.

What they contain of the GraphQL schema and the OpenAPI documents is generated here, in a copy of the sources. npm runs in
`.vitrine/build/clients-typescript`, as for the browser assets.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

from clients.generate_python import generate
from server.assets import build
from server.assets.build import ROOT, BuildFailed, Tools

PYTHON, TYPESCRIPT = ROOT / "clients" / "python", ROOT / "clients" / "typescript"
NODE_MODULES = ROOT / ".vitrine" / "build" / "clients-typescript"
# What the newest of the npm packages require.
OLDEST_NODE = (20, 19)


def version() -> str:
    """Return the version of the project."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def build_python(folder: Path) -> Path:
    """Build the wheel; raise `BuildFailed`."""
    sources = _copy(PYTHON, folder)
    generate(ROOT, sources / "vitrine_client" / "generated")
    shutil.copyfile(ROOT / "schema" / "public.graphql", sources / "vitrine_client" / "schema.graphql")
    project = sources / "pyproject.toml"
    project.write_text(_with_version(project, r'^version = ".*"$', f'version = "{version()}"'), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-index"]
    build.run("pip wheel", [*pip, "--no-build-isolation", "--wheel-dir", folder, sources], sources)
    return folder / f"vitrine_client-{version()}-py3-none-any.whl"


def build_typescript(folder: Path, tools: Tools) -> Path:
    """Build the npm package with the installed packages; raise `BuildFailed`."""
    sources = _copy(TYPESCRIPT, folder)
    (sources / "node_modules").symlink_to(NODE_MODULES / "node_modules")
    manifest = sources / "package.json"
    manifest.write_text(
        _with_version(manifest, r'^  "version": ".*"', f'  "version": {json.dumps(version())}'), encoding="utf-8"
    )
    build.run("generating types", [*tools.node, "generate.mjs", ROOT], sources)
    build.run("tsc", [*tools.node, "node_modules/typescript/bin/tsc", "--project", "."], sources)
    build.run("npm pack", [*tools.npm, "pack", "--pack-destination", folder], sources)
    return folder / f"vitrine-client-{version()}.tgz"


def _copy(sources: Path, folder: Path) -> Path:
    target = folder / sources.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(sources, target, ignore=shutil.ignore_patterns("generated", "node_modules", "dist", "__pycache__"))
    return target


def _with_version(file: Path, line: str, replacement: str) -> str:
    text, count = re.subn(line, replacement, file.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
    assert count == 1, file
    return text


def main() -> int:
    """Build both packages; return the exit code."""
    parser = argparse.ArgumentParser("python -m clients.build", description="Build the packages of the typed clients.")
    default = ROOT / ".vitrine" / "build" / "packages"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="by default .vitrine/build/packages")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        print(build_python(folder))
        tools = build.machine_tools(OLDEST_NODE) or build.packaged_tools()
        NODE_MODULES.mkdir(parents=True, exist_ok=True)
        build.install(tools, TYPESCRIPT, NODE_MODULES)
        print(build_typescript(folder, tools))
    except (BuildFailed, OSError) as error:
        print(f"clients: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
