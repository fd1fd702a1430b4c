"""Configure the deployment's secret for every auth test."""

import pytest

from auth.configuration import configure


@pytest.fixture(autouse=True, scope="session")
def secret():
    configure(b"the secret of the tests, 32 bytes")
