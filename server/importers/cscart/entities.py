"""The entities of a shop in the order in which they are imported: each after those it refers to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from domain.imports.numbered import ImportedRecord, ImportKind, Rows
from models.tables.base import StoreModel
from models.tables.catalog import Category, Feature, Product, VariationGroup
from models.tables.content import Page
from models.tables.marketplace import Vendor
from models.tables.options import Combination, Option, OptionVariant
from models.tables.orders import Order, OrderLine
from models.tables.payments import PaymentMethod
from models.tables.shipping import Destination, ShippingMethod
from models.tables.taxes import Tax
from models.tables.users import User, Usergroup
from server.importers.cscart import catalog, content, options, orders, people, pricing
from server.importers.cscart.context import Context
from server.importers.cscart.values import Record, own_number


@dataclass(frozen=True)
class ShopEntity:
    """How the records of an entity are read and converted.

    `paths` are its lists, of which the first that the source has is read. `key` is the record's number. A row of the list that has
    `complete_field` is the whole record; the others are read singly. `parent` names the record it stands below. `refers_to` are the tables
    whose numbers the conversion needs. `by_product`: CS-Cart lists the records of one product at a time. `prepare` completes the rows of a
    batch before it is written. `derived` are members that repeat what others say. `load` loads what conversions
    need of the store besides numbers. `compares_whole`: with `since` each record is read, and written again when anything of it has
    changed, since rows of the list don't show what matters; others are compared by their rows.
    """

    name: str
    key: str
    kind: ImportKind
    convert: Callable[[Context, Record], Rows | Awaitable[Rows]]
    complete_field: str
    paths: tuple[str, ...] = ()
    parent: str = ""
    sort_by: str = ""
    refers_to: tuple[type[StoreModel], ...] = ()
    by_product: bool = False
    identify: Callable[[Record], str] | None = None
    prepare: Callable[[Context, Sequence[ImportedRecord]], Awaitable[None]] | None = None
    load: Callable[[Context], Awaitable[None]] | None = None
    derived: frozenset[str] = frozenset()
    compares_whole: bool = False

    @property
    def lists(self) -> tuple[str, ...]:
        """Return the paths of its list."""
        return self.paths or (self.name,)

    def external_id(self, record: Record) -> str:
        """Return the id of a record at the source; raises NotBrought without one."""
        return self.identify(record) if self.identify else str(own_number(record, self.key))


ENTITIES = (
    ShopEntity("languages", "lang_id", content.LANGUAGE, content.convert_language, "name"),
    ShopEntity("statuses", "status_id", content.STATUS, content.convert_status, "params", compares_whole=True),
    ShopEntity("usergroups", "usergroup_id", people.USERGROUP, people.convert_usergroup, "usergroup"),
    ShopEntity("vendors", "company_id", people.VENDOR, people.convert_vendor, "phone", paths=("vendors", "stores")),
    ShopEntity(
        "users",
        "user_id",
        people.USER,
        people.convert_user,
        "b_address",
        sort_by="id",
        refers_to=(Vendor, Usergroup),
        derived=frozenset({"is_root"}),
    ),
    ShopEntity(
        "categories",
        "category_id",
        catalog.CATEGORY,
        catalog.convert_category,
        "description",
        parent="parent_id",
        refers_to=(Category, Vendor),
        derived=frozenset({"id_path"}),
        compares_whole=True,
    ),
    ShopEntity(
        "features",
        "feature_id",
        catalog.FEATURE,
        catalog.convert_feature,
        "variants",
        parent="parent_id",
        refers_to=(Feature, Category),
        compares_whole=True,
    ),
    ShopEntity(
        "destinations",
        "destination_id",
        pricing.DESTINATION,
        pricing.convert_destination,
        "countries",
        compares_whole=True,
    ),
    ShopEntity(
        "taxes", "tax_id", pricing.TAX, pricing.convert_tax, "rates", refers_to=(Destination,), compares_whole=True
    ),
    ShopEntity(
        "shippings",
        "shipping_id",
        pricing.SHIPPING,
        pricing.convert_shipping,
        "rates",
        refers_to=(Vendor, Destination, Tax),
        compares_whole=True,
    ),
    ShopEntity(
        "payments",
        "payment_id",
        pricing.PAYMENT,
        pricing.convert_payment,
        "instructions",
        refers_to=(Vendor, Tax),
        compares_whole=True,
    ),
    ShopEntity(
        "products",
        "product_id",
        catalog.PRODUCT,
        catalog.convert_product,
        "full_description",
        sort_by="product_id",
        refers_to=(Vendor, Category, Tax),
        prepare=catalog.choose_product_slugs,
        derived=frozenset({"base_price", "company_name", "has_options"}),
    ),
    ShopEntity(
        "product_variations_groups",
        "id",
        catalog.VARIATION_GROUP,
        catalog.convert_variation_group,
        "products",
        refers_to=(VariationGroup, Feature, Product),
    ),
    ShopEntity(
        "options",
        "option_id",
        options.OPTION,
        options.convert_option,
        "variants",
        refers_to=(Product, Vendor),
        by_product=True,
    ),
    ShopEntity(
        "combinations",
        "combination_id",
        options.COMBINATION,
        options.convert_combination,
        "combination",
        refers_to=(Product, Option, OptionVariant, Combination),
        by_product=True,
        identify=options.combination_key,
        load=options.load_combinations,
    ),
    ShopEntity(
        "exceptions",
        "exception_id",
        options.EXCEPTION,
        options.convert_exception,
        "combination",
        refers_to=(Product, Option, OptionVariant),
        by_product=True,
    ),
    ShopEntity(
        "promotions",
        "promotion_id",
        pricing.PROMOTION,
        pricing.convert_promotion,
        "conditions",
        compares_whole=True,
    ),
    ShopEntity(
        "pages",
        "page_id",
        content.PAGE,
        content.convert_page,
        "description",
        parent="parent_id",
        refers_to=(Page, Vendor),
        compares_whole=True,
    ),
    ShopEntity(
        "orders",
        "order_id",
        orders.ORDER,
        orders.convert_order,
        "payment_id",
        sort_by="order_id",
        refers_to=(User, Vendor, Product, PaymentMethod, ShippingMethod, Tax),
        load=orders.load_orders,
        derived=frozenset({"b_country_descr", "s_country_descr", "discount", "payment_method", "display_subtotal"}),
    ),
    ShopEntity(
        "shipments",
        "shipment_id",
        orders.SHIPMENT,
        orders.convert_shipment,
        "products",
        sort_by="id",
        refers_to=(Order, OrderLine, User, ShippingMethod),
        load=orders.load_line_numbers,
    ),
    ShopEntity(
        "discussions",
        "post_id",
        content.DISCUSSION,
        content.convert_discussion,
        "message",
        refers_to=(Product, Category, Page, Order, User),
    ),
)
