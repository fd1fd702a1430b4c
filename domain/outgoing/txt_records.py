"""TXT records of DNS names, which prove the control of a name."""

from __future__ import annotations

from models.connection.database import check_no_transaction

SECONDS = 5.0


class LookupFailed(Exception):
    """The name servers gave no answer."""


async def find_txt_records(name: str) -> list[str]:
    """Return the texts of the TXT records of a name, none where the name doesn't exist; raises LookupFailed without an answer."""
    import dns.asyncresolver  # with 57 modules, which most processes never need
    import dns.exception
    import dns.resolver

    check_no_transaction()
    try:
        answer = await dns.asyncresolver.resolve(name, "TXT", lifetime=SECONDS, raise_on_no_answer=False)
    except dns.resolver.NXDOMAIN:
        return []
    except dns.exception.DNSException as error:
        raise LookupFailed(type(error).__name__) from error
    return [b"".join(record.strings).decode("utf-8", "replace") for record in answer.rrset or ()]
