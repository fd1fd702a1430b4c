"""The code, its comments and its documents use the terms of docs/glossary.md, and cite documents that exist."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_repository import LAYERS, ROOT, files, relative

# Words that must not return, in names or in prose, each with the term that replaced it.
REPLACED = {
    "told": "emitted", "untold": "pending", "telling": "emitting", "tell": "emit, return", "tells": "emits, returns",
    "reckon": "calculate", "reckoned": "calculated", "reckoning": "cart totals",
    "entrance": "authenticator", "entrant": "authenticated user",
    "door": "entry point, route", "doors": "entry points, routes", "rooms": "packages", "floors": "layers",
    "seller": "vendor", "sellers": "vendors",
    "anew": "again, new", "beside": "next to, besides",
    "whoever": "the caller", "somebody": "a caller, a user",
    "mended": "fixed", "mend": "fix",
    "shelf": "stock", "shelves": "stock",
    "nothing_beside": "", "odd_described": "openapi_routes",
}  # fmt: skip
# Words of plain prose that must not return as names.
REPLACED_NAMES = {
    "letter": "status, code", "letters": "statuses, codes",
    "given": "input, value", "held": "locked, reserved", "found": "row, match", "told": "emitted",
}  # fmt: skip
# Names that a database, a GraphQL schema or a library prescribes.
PRESCRIBED_NAMES = {
    "NotFound", "NOT_FOUND", "not_found", "TenantNotFound", "FileNotFoundError", "HTTPNotFound", "ProcessLookupError",
    "status_letters", "letter", "given_back", "ascii_letters", "_ONE_LETTER", "_SINGLE_LETTER",
    "given",  # hypothesis.given, in tests
}  # fmt: skip

# First words of functions that must not return, each with the verbs of docs/glossary.md in its place.
REPLACED_VERBS = {
    "get": "find, load, read, fetch", "retrieve": "find, fetch", "look": "find", "lookup": "find", "obtain": "find",
    "remember": "keep", "memoize": "keep", "require": "check", "assert": "check", "validate": "parse, check, verify",
    "refuse": "reject", "finish": "end, complete", "conclude": "complete", "terminate": "stop", "launch": "start",
}  # fmt: skip
PRESCRIBED_FUNCTIONS = {
    "get": "HTTP's method; asyncpg's queue of connections",
    "get_fields": "Strawberry",
    "_get_statement": "asyncpg",
    "get_info": "aiohttp",
    "check_out": "two words, one verb",
}

# Where names that can't change are prescribed: clients and the previous version of the program use them.
PRESCRIBING = ("schema/public.graphql", "docs/openapi/*.json", "models/migrations/sql/*/*.sql")
OLIST_NAMES = r"olist_sellers\w*|\bseller_(?:id|zip_code_prefix|city|state)\b"
FRENET_NAMES = r"\bSellerCEP\b"
WORD = re.compile(r"[A-Za-z]+")
NAME = re.compile(r"[^\W\d]\w*")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
TEXT_SUFFIXES = {".py", ".md", ".graphql", ".toml", ".html", ".js", ".jsx", ".mjs", ".ts", ".css"}

# Landed migrations are never edited, results of measurements neither; snapshots follow the code.
EXEMPT = re.compile(
    r"models/migrations/|bench/results/|tests/legacy/golden/|tests/test_terminology\.py|.*package-lock\.json|docs/openapi/"
)

# What a reader searches for, and the file that the search must lead to.
SEARCHES = {
    "pagination": "schema/pagination.py",
    "webhook": "server/workers/webhooks.py",
    "retry": "domain/webhooks/endpoint_health.py",
    "oversell": "domain/catalog/stock.py",
    "refund": "domain/gateway/charges.py",
    "coupon": "domain/promotions/rewards.py",
    "tenant isolation": "models/connection/binding.py",
    "N+1": "models/reading/row_reads.py",
    "rate limit": "server/http/limits.py",
    "CORS": "server/http/cross_origin.py",
    "idempotency": "domain/idempotency.py",
    "2FA": "auth/two_factor_codes.py",
    "SSRF": "server/outgoing.py",
    "dataloader": "models/reading/row_reads.py",
    "lockout": "auth/lockout.py",
    "facet": "domain/search/statement.py",
    "full-text search": "domain/search/statement.py",
    "cache": "kernel/cache.py",
    "dead letter": "domain/webhooks/attempt_results.py",
    "backoff": "kernel/retries.py",
    "outbox": "domain/mails/outbox.py",
    "row-level security": "models/connection/binding.py",
    "ETag": "rest_facade/responses.py",
    "limits": "resolvers/engine/limits.py",
    "scanner": "resolvers/engine/scanner.py",
    "pool": "models/connection/pool.py",
    "pricing": "domain/purchase/pricing.py",
    "retries": "domain/webhooks/endpoint_health.py",
}
# A search is good when its file is among the first results.
SHOWN = 5

CITATION = re.compile(r"docs/reference/(?P<page>[a-z-]+)\.md(?:#(?P<anchor>[a-z0-9-]+))?")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s#]*)(?:#(?P<anchor>[^)\s]+))?\)")
# A path of modules, and what may follow: in a text by itself or in backticks, or what an error asks to call.
QUALIFIED = re.compile(r"(?:`|\bcall )(?P<name>(?:" + "|".join([*LAYERS, "tests"]) + r")(?:\.[a-z_]\w*)*\.\w+)(?=[`(])")
NAMES_OF_FILES = {"server.lock", "schema.graphql"}
# Documents whose names in backticks are the program's own; others name files and settings of other programs too.
OWN_NAMES = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    *(
        f"docs/{name}.md"
        for name in (
            *("errors", "glossary", "ledger", "payments-pagarme", "performance", "shipping"),
            *("tutorials/app-developer", "tutorials/operator"),
        )
    ),
)
# Names what its examples add.
RECIPES = "docs/recipes.md"
UNREACHABLE = re.compile(
    r"decisions(?:-legacy|-cscart|-storefront)?(?:\.md)?,? (?:section|\d)|current-api|legacy-api|\bthe contract\b"
)


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and content of every file that people write."""
    for path in files():
        name = relative(path)
        if path.suffix in TEXT_SUFFIXES and not EXEMPT.match(name):
            yield name, path.read_text(encoding="utf-8")


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a Markdown page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return set(slugs) | {f"{slug}-{slugs[:index].count(slug)}" for index, slug in enumerate(slugs)}


def test_no_replaced_word_returns():
    returned = defaultdict(list)
    for name, text in texts():
        # To look for what is allowed takes long: only in files where there may be anything else.
        for number, line in enumerate(text.splitlines() if replaced_words(text) else (), 1):
            for word in replaced_words(prescribed_names().sub(" ", line)):
                returned[word].append(f"{name}:{number}")
    assert {word: places[:5] for word, places in returned.items()} == {}, "docs/glossary.md names the terms"


@functools.cache
def prescribed_names() -> re.Pattern[str]:
    """Return a pattern of the prescribed names that contain a replaced word; a single word counts only as a key."""
    patterns = {OLIST_NAMES, FRENET_NAMES}
    for path in (path for pattern in PRESCRIBING for path in ROOT.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        for name in {each for each in NAME.findall(text) if replaced_words(each)}:
            if "_" in name or CAMEL.search(name):
                patterns.add(name)
            elif path.suffix == ".json" and f'"{name}": ' in text:
                patterns.add(rf"""["'`]{name}["'`]|\b{name}[=:]""")
    return re.compile("|".join(sorted(patterns, key=len, reverse=True)), re.IGNORECASE)


def replaced_words(text: str) -> set[str]:
    words = " ".join(set(WORD.findall(text)))
    return set(CAMEL.sub(" ", words).lower().split()) & REPLACED.keys()


def test_no_replaced_name_returns():
    returned = defaultdict(set)
    for name, text in texts():
        if not name.endswith(".py"):
            continue
        replaced = {each for each in set(NAME.findall(text)) if is_replaced_name(each)}
        # They may stand in prose: only such files are divided into tokens, which takes long.
        for token in tokenize.generate_tokens(io.StringIO(text).readline) if replaced else ():
            if token.type == tokenize.NAME and token.string in replaced:
                returned[token.string].add(f"{name}:{token.start[0]}")
    assert {word: sorted(places)[:5] for word, places in returned.items()} == {}, "docs/glossary.md names the terms"


def is_replaced_name(name: str) -> bool:
    if name in PRESCRIBED_NAMES:
        return False
    parts = CAMEL.sub("_", name).lower().split("_")
    is_test = name.startswith("test_")  # a sentence
    return name == "found" or (not is_test and bool(set(parts) & (REPLACED_NAMES.keys() - {"found"})))


@functools.cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return place and definition of every function and method of the product."""
    return [
        (f"{name}:{node.lineno}", node)
        for name, tree in parsed_modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def parsed_modules() -> Iterator[tuple[str, ast.Module]]:
    for path in files():
        name = relative(path)
        if path.suffix == ".py" and name.split("/")[0] in LAYERS and not name.startswith("models/migrations/"):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def verb(name: str) -> str:
    return name.strip("_").split("_")[0]


def test_functions_use_one_verb_for_one_thing():
    replaced = [
        f"{place} {node.name}: {REPLACED_VERBS[verb(node.name)]}"
        for place, node in functions()
        if verb(node.name) in REPLACED_VERBS and node.name not in PRESCRIBED_FUNCTIONS
    ]
    assert replaced == [], "docs/glossary.md#verbs"
    assert PRESCRIBED_FUNCTIONS.keys() <= {node.name for _, node in functions()}


def test_functions_that_check_return_nothing():
    returning = [
        f"{place} {node.name}"
        for place, node in functions()
        if verb(node.name) == "check" and node.name not in PRESCRIBED_FUNCTIONS and returned(node) != "None"
        if "CheckResult" not in returned(node)  # of `vitrine doctor`
    ]
    assert returning == [], "a function that returns a value from outside parses it: docs/glossary.md#verbs"


def returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return ast.unparse(node.returns) if node.returns is not None else ""


def test_the_glossary_lists_the_verbs_of_functions():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Verbs")[2]
    listed = {word for cell in re.findall(r"^\| ([a-z, ]+) \|", text, flags=re.MULTILINE) for word in cell.split(", ")}
    used = {verb(node.name) for _, node in functions()}
    assert not listed & REPLACED_VERBS.keys()
    assert {word for verbs in REPLACED_VERBS.values() for word in verbs.split(", ")} <= listed <= used


def test_the_modules_of_a_term_mention_it():
    """A reader who searches for a term of the glossary has to find it there: each word of the term, up to its ending."""
    terms = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Verbs")[0]
    missing = []
    for term, code in re.findall(r"^\| (?!Term |---)([^|]+) \| [^|]+ \| ([^|]+) \|", terms, flags=re.MULTILINE):
        words = re.findall(r"[a-z]{4,}", re.sub(r"\(.*?\)", "", term.lower()))
        for path in (ROOT / each for each in re.findall(r"`([a-z_][\w/]*/(?:\w+\.py)?)`", code)):
            modules = [path] if path.is_file() else sorted(path.glob("*.py"))
            text = " ".join(module.read_text(encoding="utf-8") for module in modules).lower()
            missing += [f"{path.name}: {word}" for word in words if word.rstrip("s")[:7] not in text]
    assert missing == [], (
        "docs/glossary.md says that these modules are the terms' code, and they don't mention the words"
    )


def test_no_two_public_classes_share_a_name():
    defined = defaultdict(set)
    for name, tree in parsed_modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].add(name)
    assert {name: sorted(places) for name, places in defined.items() if len(places) > 1} == {}


@pytest.mark.parametrize("term", SEARCHES)
def test_a_search_for_a_standard_term_leads_to_its_file(term: str):
    searched = re.compile(re.escape(term).replace(r"\ ", r"[ _-]?"), re.IGNORECASE)
    counts = {
        name: len(searched.findall(text))
        for name, text in texts()
        if name.split("/")[0] in LAYERS or name == SEARCHES[term]
    }
    # Files named after the term first, then most mentions first.
    ranked = sorted(
        (name for name, count in counts.items() if count),
        key=lambda name: (not searched.search(name), -counts[name], name),
    )
    assert SEARCHES[term] in ranked[:SHOWN], ranked[:SHOWN]


@pytest.mark.parametrize("document", OWN_NAMES)
def test_documents_name_files_and_names_that_exist(document: str):
    text = re.sub(r"^```.*?^```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([^`\n]+)`", text))
    paths = {
        each for each in named if re.fullmatch(r"[a-z_][\w./-]*/|[a-z_][\w./-]*\.(?:py|md|toml|json|graphql|ini)", each)
    }
    names = {each for each in named - paths if re.fullmatch(r"[A-Za-z_]\w+(?:\.\w+)*", each)}
    assert paths or names
    assert {path for path in paths if not is_path(path)} == set()
    assert {each for name in names for each in name.split(".")} - words_of_the_code() == set()
    qualified = {each for each in names if "." in each and modules_named(each.split(".")[0])}
    assert {each for each in qualified if not is_in_a_module(*each.split(".")[:2])} == set()


def is_in_a_module(module: str, name: str) -> bool:
    return any(name in names_in_module(path) for path in modules_named(module))


@functools.cache
def modules_named(name: str) -> list[Path]:
    return [path for path in files() if path.name == f"{name}.py"]


def is_path(path: str) -> bool:
    """Return whether a path is one of the tree or of set-up (.gitignore), or the end of one: a module of a list."""
    if "/" in path:
        return (ROOT / path).exists() or path in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return any(each.name == path for each in files())


def test_qualified_names_exist():
    """A comment, message or document that names a part of a module would otherwise keep the name that it had."""
    stale = {}
    for name, text in texts():
        for number, line in enumerate(text.splitlines() if QUALIFIED.search(text) else (), 1):
            for match in QUALIFIED.finditer(line):
                if name != RECIPES and match["name"] not in NAMES_OF_FILES and not is_defined(match["name"]):
                    stale[f"{name}:{number}"] = match["name"]
    assert stale == {}, "these names are not in the modules that they say"


def is_defined(qualified: str) -> bool:
    """Return whether a path of packages and modules is one, and the name after it is in the module that it leads to."""
    path, parts = ROOT, qualified.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    if not parts:
        return True
    module = path / f"{parts[0]}.py"
    if module.is_file():
        return not parts[1:] or parts[1] in names_in_module(module)
    return parts[0] in names_in_module(path / "__init__.py")


@functools.cache
def names_in_module(path: Path) -> set[str]:
    """Return what a module defines or imports at any level."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


@functools.cache
def words_of_the_code() -> set[str]:
    code = (".py", ".sql", ".graphql", ".toml", "Makefile")
    texts = (path.read_text(encoding="utf-8") for path in files() if path.name.endswith(code))
    return {word for text in texts for word in NAME.findall(text)}


def test_citations_of_the_reference_have_targets():
    known = {page.stem: anchors(page) for page in (ROOT / "docs" / "reference").glob("*.md")}
    missing = []
    for name, text in texts():
        for match in CITATION.finditer(text):
            page, anchor = match["page"], match["anchor"]
            if page not in known or (anchor and anchor not in known[page]):
                missing.append(f"{name}: {match.group()}")
    assert missing == []


def test_links_between_documents_have_targets():
    broken = []
    for path in files():
        if path.suffix != ".md" or EXEMPT.match(relative(path)):
            continue
        for match in LINK.finditer(path.read_text(encoding="utf-8")):
            target, anchor = match["target"], match["anchor"]
            if "://" in target or target.startswith("mailto:"):
                continue
            page = (path.parent / target).resolve() if target else path
            if not page.exists() or (anchor and page.suffix == ".md" and anchor not in anchors(page)):
                broken.append(f"{relative(path)}: {match.group()}")
    assert broken == []


def test_nothing_cites_what_the_repository_does_not_hold():
    found = [
        f"{name}: {match.group()}"
        for name, text in texts()
        for match in UNREACHABLE.finditer(text)
        if not name.startswith("docs/reference/")
    ]
    assert found == []
