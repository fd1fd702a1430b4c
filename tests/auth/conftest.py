"""Give every test of signing in the deployment's secret."""

import pytest

from auth.configuration import configure


@pytest.fixture(autouse=True, scope="session")
def secret():
    configure(b"the secret of the tests, 32 bytes")
