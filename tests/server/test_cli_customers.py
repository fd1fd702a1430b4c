"""`vitrine customer`: export and erasure of a person."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from uuid import uuid4

import pytest

from server.commands import customers
from tests.server.command_line import Vitrine

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


def new_store(vitrine: Vitrine) -> str:
    host = f"{uuid4().hex[:12]}.example"
    return str(vitrine("tenant", "create", "Loja", "--host", host, "--json").json["tenant_id"])


def add_person(vitrine: Vitrine, store: str, email: str, name: str = "Zenobia Quitéria") -> str:
    arguments = ("--tenant", store, "--email", email, "--type", "C", "--name", name, "--json")
    return str(vitrine("user", "create", *arguments).json["user_id"])


async def test_a_person_is_exported_and_erased_in_one_store_of_two(vitrine, tmp_path):
    store, other = new_store(vitrine), new_store(vitrine)
    email = "zenobia@example.com"
    user, theirs = add_person(vitrine, store, email), add_person(vitrine, other, email)
    exported = vitrine("customer", "export", "--tenant", store, "--email", email.upper()).json
    assert [account["id"] for account in exported["users"]] == [user]
    assert [account["lastname"] for account in exported["users"]] == ["Quitéria"]
    assert theirs not in json.dumps(exported)

    file = tmp_path / "person.json"
    assert vitrine("customer", "export", "--tenant", store, "--user", user, "--output", str(file)).code == 0
    assert json.loads(file.read_text(encoding="utf-8")) == exported
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    refused = vitrine("customer", "export", "--tenant", store, "--user", user, "--output", str(file))
    assert (refused.code, refused.err.strip()) == (1, f"vitrine: {file} exists already")

    erased = vitrine("customer", "erase", "--tenant", store, "--email", email, "--json").json
    assert (erased["rows"] > 0, erased["kept_orders"], erased["newest_kept_order"]) == (True, 0, None)
    again = vitrine("customer", "erase", "--tenant", store, "--email", email, "--json")
    assert (again.code, again.json["rows"]) == (0, 0)
    assert "Zenobia" not in json.dumps(vitrine("customer", "export", "--tenant", store, "--user", user).json)
    left = vitrine("customer", "export", "--tenant", other, "--email", email).json
    assert [account["id"] for account in left["users"]] == [theirs]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("export", "--email", "none@example.com"), "Loja knows nothing of 'none@example.com'"),
        (("export", "--email", "no address"), "email is 'no address'; expected an address such as ana@example.com"),
        (("export", "--user", "0"), "user not found"),
        (("erase", "--user", "0"), "user not found"),
        (("erase", "--email", "no address"), "email is 'no address'; expected an address such as ana@example.com"),
    ],
)
async def test_an_unknown_person_is_an_error_of_one_line(vitrine, arguments, message):
    answer = vitrine("customer", arguments[0], "--tenant", new_store(vitrine), *arguments[1:])
    assert (answer.code, answer.err.strip()) == (1, f"vitrine: {message}")


def test_an_export_that_fails_leaves_no_part_that_would_pass_for_the_whole(tmp_path: Path):
    file = tmp_path / "ana.json"

    def write_a_part() -> None:
        with customers._opened(file) as output:
            output.write("{")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as failed:
        write_a_part()
    assert failed.value.filename == str(file)
    assert not file.exists()
