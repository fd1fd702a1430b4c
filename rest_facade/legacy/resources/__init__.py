"""The entity descriptions of the legacy API."""

from __future__ import annotations

from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources.b2b import B2B
from rest_facade.legacy.resources.categories import CATEGORIES
from rest_facade.legacy.resources.contacts import CALL_REQUESTS, SUBSCRIBERS
from rest_facade.legacy.resources.content import BLOCKS, LANGUAGES, PAGES
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.extra_order_fields import EXTRA_ORDER_FIELDS
from rest_facade.legacy.resources.features import FEATURES
from rest_facade.legacy.resources.options import COMBINATIONS, EXCEPTIONS, OPTIONS
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.payments import PAYMENTS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.promotions import PROMOTIONS
from rest_facade.legacy.resources.settings import SETTINGS
from rest_facade.legacy.resources.shipments import SHIPMENTS
from rest_facade.legacy.resources.shippings import DESTINATIONS, SHIPPINGS
from rest_facade.legacy.resources.statuses import STATUSES
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.taxes import TAXES
from rest_facade.legacy.resources.usergroups import USERGROUPS
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.resources.warehouses import WAREHOUSES

RESOURCES: tuple[Resource, ...] = (
    PRODUCTS,
    ORDERS,
    SHIPMENTS,
    EXTRA_ORDER_FIELDS,
    USERS,
    CATEGORIES,
    FEATURES,
    OPTIONS,
    COMBINATIONS,
    EXCEPTIONS,
    DISCUSSIONS,
    STATUSES,
    PAYMENTS,
    SHIPPINGS,
    DESTINATIONS,
    TAXES,
    PROMOTIONS,
    STORES,
    USERGROUPS,
    WAREHOUSES,
    *B2B,
    PAGES,
    BLOCKS,
    LANGUAGES,
    SETTINGS,
    SUBSCRIBERS,
    CALL_REQUESTS,
)
