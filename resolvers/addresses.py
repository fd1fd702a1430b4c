"""Resolve the caller's saved addresses."""

from __future__ import annotations

import strawberry
from strawberry import Info

from domain.people.addresses import ADDRESS_RECORDS, set_default_address
from resolvers.entity_mutations import build_entity_mutations
from resolvers.mutation_helpers import load_record
from schema.enums import AddressType
from schema.fields import root_field
from schema.scalars import ID
from schema.types.addresses import SavedAddressInput, SavedAddressObject
from schema.types.sessions import SIGNED_IN_USERS


@strawberry.type
class AddressMutations:
    """Further mutations of saved addresses."""

    @root_field(SIGNED_IN_USERS)
    async def address_set_default(self, info: Info, id: ID, type: AddressType) -> SavedAddressObject | None:
        """Make one of the caller's saved addresses the default for shipping or billing."""
        return await load_record(info, await set_default_address(info.context.scope, id, type))  # type: ignore[no-any-return]


MUTATIONS = (
    AddressMutations,
    build_entity_mutations(
        SavedAddressObject,
        "address",
        SavedAddressInput,
        ADDRESS_RECORDS,
        SIGNED_IN_USERS,
        create_description="Save an address of the caller, at most 50; the first one is the default for shipping and billing.",
        update_description="Update one of the caller's saved addresses; omitted fields stay unchanged, and so do orders and carts.",
        delete_description="Delete one of the caller's saved addresses; orders and carts keep their copies.",
    ),
)
