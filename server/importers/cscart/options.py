"""Convert options, combinations and exceptions."""

from __future__ import annotations

from domain.catalog.combinations import COMBINATION_FIELDS
from domain.catalog.option_exceptions import EXCEPTION_FIELDS
from domain.catalog.options import OPTION_FIELDS
from domain.catalog.options import VARIANT_FIELDS as OPTION_VARIANT_FIELDS
from domain.catalog.product_options import FORBIDDEN, NO_VARIANT, TYPES_WITH_VARIANTS, WILDCARDS, combination_hash
from domain.imports.numbered import ImportKind, ImportTable, PartNumbers, Row, Rows, load_references
from kernel.received_files import MAX_BYTES
from models.connection.database import fetchval
from models.tables.options import (
    Combination,
    CombinationChoice,
    ExceptionChoice,
    Option,
    OptionException,
    OptionVariant,
    ProductOption,
)
from server.importers.cscart.context import IMAGE_COLUMNS, SOURCE, Context
from server.importers.cscart.values import (
    OFFERED_BY,
    NotBrought,
    Record,
    as_number,
    cents,
    entries,
    flag,
    integer,
    number,
    numbers,
    own_number,
    position,
    rounded,
    text,
)

# Combinations and exceptions with a shared option make their product offer it.
_OFFERS = ImportTable(ProductOption, without=("position",), owner="option_id", shared=("product_id", "option_id"))
OPTION = ImportKind(
    "option", ImportTable(Option), ImportTable(OptionVariant, owner="option_id", numbers=PartNumbers.KEPT), _OFFERS
)


def convert_option(context: Context, record: Record) -> Rows:
    """Convert an option with its variants; one without a product is shared."""
    option = own_number(record, "option_id")
    type_ = text(record, "option_type", "S")
    values = {
        "name": text(record, "option_name"),
        "type": type_,
        "required": flag(record, "required"),
        "inventory": type_ in TYPES_WITH_VARIANTS and flag(record, "inventory", default=True),
        "status": "A" if text(record, "status", "A") == "A" else "D",
        "position": position(record),
        "description": text(record, "description"),
        "allowed_extensions": text(record, "allowed_extensions"),
        "max_file_size": min(max(0, integer(record, "max_file_size")), MAX_BYTES // 1024),
    }
    columns = context.columns(OPTION_FIELDS, values)
    product = context.required(record, "product_id", "products") if number(record, "product_id") else None
    row = {
        "id": option,
        **columns,
        "product_id": product,
        "vendor_id": context.optional(record, "company_id", "vendors"),
        **context.times(None),
    }
    variants = _variants(context, option, record) if columns["type"] in TYPES_WITH_VARIANTS else []
    offering = [product] if product is not None else context.present(numbers(record, OFFERED_BY), "product", "products")
    return {
        "options": [row],
        "option_variants": variants,
        "product_options": [{"product_id": product_id, "option_id": option} for product_id in offering],
    }


def _variants(context: Context, option: int, record: Record) -> list[Row]:
    rows: dict[int, Row] = {}
    for key, entry in entries(record.get("variants")).items():
        if not isinstance(entry, dict):
            continue
        variant = as_number(entry.get("variant_id", key))
        if variant is None:
            continue
        values = {
            # The variants of a checkbox have no names in CS-Cart.
            "name": text(entry, "variant_name") or str(len(rows)),
            "modifier": cents(entry, "modifier"),
            "modifier_type": text(entry, "modifier_type") or "A",
            "position": position(entry),
            **_icon(entry.get("image_pair")),
        }
        columns = context.columns(OPTION_VARIANT_FIELDS, values, droppable=("image_url", "image_alt"))
        rows[variant] = {"image_url": "", "image_alt": "", **columns, "id": variant, "option_id": option}
    return list(rows.values())


def _icon(pair: object) -> dict[str, str]:
    icon = (pair.get("icon") or pair.get("detailed")) if isinstance(pair, dict) else None
    if not isinstance(icon, dict):
        return {"image_url": "", "image_alt": ""}
    return {"image_url": text(icon, "image_path"), "image_alt": text(icon, "alt")}


# --- Combinations ----------------------------------------------------------------------------------------------------------------

COMBINATION = ImportKind(
    "combination",
    ImportTable(
        Combination,
        without=("reserved", "image_width", "image_height", *IMAGE_COLUMNS),
        on_update={"on_hand": "excluded.on_hand + combinations.reserved"},
    ),
    ImportTable(CombinationChoice, owner="combination_id"),
    _OFFERS,
)


# What a combination has of its own, else its product's.
_OWN = {
    **{f"{name}_mm": (f"box_{name}", 10) for name in ("length", "width", "height")},
    "shipping_freight_cents": ("shipping_freight", 100),
}


_HIGHEST = "SELECT max(id) FROM combinations WHERE tenant_id = $1"


async def load_combinations(context: Context) -> None:
    """Load the numbers of combinations that were imported before, by what identifies them at the source, and the next one."""
    imported = await load_references(context.scope, SOURCE, COMBINATION.name)
    context.combinations = {external_id: before.number for external_id, before in imported.items()}
    # Deleted combinations keep their numbers.
    highest = await fetchval(_HIGHEST, context.scope.store.id)
    context.next_combination = max(highest or 0, *context.combinations.values(), 0) + 1


def combination_key(record: Record) -> str:
    """Return what identifies a combination at the source: its number, else product and hash; raises NotBrought without them."""
    own, in_product = text(record, "combination_id"), text(record, "combination_hash")
    if not own and not in_product:
        raise NotBrought("combination_id and combination_hash are missing")
    return own or f"{text(record, 'product_id')}:{in_product}"


def convert_combination(context: Context, record: Record) -> Rows:
    """Convert a combination; CS-Cart's have no number and a hash of another form, so they get the next ones."""
    product = context.required(record, "product_id", "products")
    pairs = {
        option: variant for option, variant in _choices(context, record).items() if variant not in WILDCARDS.values()
    }
    if not pairs:
        raise NotBrought("it has no option variants")
    key = combination_key(record)
    combination = number(record, "combination_id") or context.combinations.get(key, context.next_combination)
    context.combinations[key] = combination
    context.next_combination = max(context.next_combination, combination + 1)
    values = {
        "sku": text(record, "product_code"),
        "stock": max(0, integer(record, "amount")),
        "price_cents": cents(record, "price"),
        "position": position(record),
        **{column: rounded(record, name, factor) for column, (name, factor) in _OWN.items() if text(record, name)},
        "gtin": text(record, "gtin") or None,
    }
    columns = context.columns(COMBINATION_FIELDS, values)
    columns["on_hand"] = columns.pop("stock")
    row = {
        "id": combination,
        **columns,
        "product_id": product,
        "hash": combination_hash(pairs.items()),
        **context.times(None),
    }
    return {
        "combinations": [row],
        "combination_choices": [
            {"combination_id": combination, "option_id": option, "variant_id": variant}
            for option, variant in pairs.items()
        ],
        "product_options": [{"product_id": product, "option_id": option} for option in pairs],
    }


def _choices(context: Context, record: Record) -> dict[int, int]:
    """Return the chosen variants by option, of an exception also the numbers of wildcards."""
    chosen: dict[int, int] = {}
    for key, value in entries(record.get("combination")).items():
        option = as_number(key)
        if option is None or option not in context.known["options"]:
            raise NotBrought(f"option {key} is not among the options")
        wildcard = WILDCARDS.get(str(value))
        variant = as_number(value) if wildcard is None else wildcard
        if wildcard is None and variant and variant not in context.known["option_variants"]:
            raise NotBrought(f"variant {value} is not among the option variants")
        chosen[option] = variant or NO_VARIANT
    return chosen


# --- Exceptions ------------------------------------------------------------------------------------------------------------------

EXCEPTION = ImportKind(
    "exception", ImportTable(OptionException), ImportTable(ExceptionChoice, owner="exception_id"), _OFFERS
)


def convert_exception(context: Context, record: Record) -> Rows:
    """Convert an exception; in CS-Cart its type is that of the product."""
    exception = own_number(record, "exception_id")
    product = context.required(record, "product_id", "products")
    chosen = _choices(context, record)
    if not chosen:
        raise NotBrought("it has no option variants")
    type_ = text(record, "type") or FORBIDDEN
    row = {
        "id": exception,
        "product_id": product,
        **context.columns(EXCEPTION_FIELDS, {"type": type_}),
        "hash": combination_hash(chosen.items()),
        **context.times(None),
    }
    return {
        "option_exceptions": [row],
        "exception_choices": [
            {"exception_id": exception, "option_id": option, "variant_id": variant}
            for option, variant in chosen.items()
            if variant not in WILDCARDS.values()
        ],
        "product_options": [
            {"product_id": product, "option_id": option}
            for option, variant in chosen.items()
            if variant not in WILDCARDS.values()
        ],
    }
