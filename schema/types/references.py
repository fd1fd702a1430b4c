"""Types that others refer to before, or without, importing the module that defines them: relations go in every direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import strawberry

if TYPE_CHECKING:
    from schema.types.carts import CustomerCartObject
    from schema.types.catalog import ProductConnectionObject, ProductObject
    from schema.types.marketplace import VendorObject
    from schema.types.orders import OrderConnectionObject, OrderObject
    from schema.types.payments import PaymentObject
    from schema.types.people import UserObject
    from schema.types.variations import VariationGroupObject

CustomerCart: TypeAlias = Annotated["CustomerCartObject", strawberry.lazy("schema.types.carts")]
Product: TypeAlias = Annotated["ProductObject", strawberry.lazy("schema.types.catalog")]
ProductConnection: TypeAlias = Annotated["ProductConnectionObject", strawberry.lazy("schema.types.catalog")]
Order: TypeAlias = Annotated["OrderObject", strawberry.lazy("schema.types.orders")]
OrderConnection: TypeAlias = Annotated["OrderConnectionObject", strawberry.lazy("schema.types.orders")]
Payment: TypeAlias = Annotated["PaymentObject", strawberry.lazy("schema.types.payments")]
Vendor: TypeAlias = Annotated["VendorObject", strawberry.lazy("schema.types.marketplace")]
VariationGroup: TypeAlias = Annotated["VariationGroupObject", strawberry.lazy("schema.types.variations")]
User: TypeAlias = Annotated["UserObject", strawberry.lazy("schema.types.people")]
