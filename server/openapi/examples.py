"""Make an example of each request body from its schema and the names of its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel.json_schema import Schema

_ID = "0198f0de-0000-7000-8000-00000000cafe"
_BY_NAME: Mapping[str, Any] = {
    "alt": "Caneca branca, de frente",
    "carrier": "Correios",
    "city": "São Paulo",
    "client_id": "app_5b1d2c",
    "client_secret": "q7Jt0nXy3vRk9sBd2mWz",
    "code": "BEMVINDO10",
    "compare_at_cents": 4990,
    "complement": "ap. 2",
    "country": "BR",
    "cpf": "529.982.247-25",
    "customer_email": "ana@example.com",
    "customer_name": "Ana Souza",
    "description": "<p>Esmaltada à mão.</p>",
    "district": "Centro",
    "email": "ana@example.com",
    "events": "order.created",
    "grant_type": "authorization_code",
    "name": "Caneca Sereno",
    "notes": "Deixar na portaria",
    "number": "10",
    "password": "uma senha comprida",
    "per_address": 1200,
    "phone": "11 99999-0000",
    "price_cents": 3990,
    "quantity": 2,
    "rate_limit": 60000,
    "redirect_uri": "https://app.example.com/callback",
    "scopes": "read_orders",
    "short_description": "Esmaltada à mão.",
    "since": "2026-11-01T00:00:00Z",
    "sku": "CAN-38",
    "slug": "caneca-sereno",
    "state": "SP",
    "status": "A",
    "stock": 25,
    "street": "Rua das Flores",
    "tracking_code": "BR123456789BR",
    "until": "2026-11-30T00:00:00Z",
    "url": "https://example.com/caneca.png",
    "zipcode": "01001-000",
}
"""Values of members, by name; one that doesn't fit the schema of a member is not used for it."""
_BY_TAG: Mapping[str, Mapping[str, Any]] = {
    "auth": {"name": "Ana Souza", "code": "123456"},
    "carts": {"name": "Ana Souza"},
    "categories": {"name": "Mesa posta", "slug": "mesa-posta"},
    "event-endpoints": {"url": "https://app.example.com/events"},
    "oauth": {"code": "Vq8hJ2mXs0"},
    "orders": {"status": "C"},
    "storefront-keys": {"name": "Loja", "scopes": "storefront:read"},
    "webhooks": {"url": "https://app.example.com/events"},
}
"""Values where they differ from the others, by the tag of the operation."""
_BY_TYPE: Mapping[str, Any] = {"string": "kq3N0m1aVb9pT2xY", "integer": 1, "boolean": True}


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples of the bodies of a tag's operations; `schemas` are the named ones that theirs may refer to."""

    schemas: Mapping[str, Schema]
    tag: str

    def of(self, schema: Schema, name: str = "") -> Any:
        """Return an example of a body, or of a member of this name."""
        if "$ref" in schema:
            schema = {**self.schemas[schema["$ref"].rpartition("/")[2]], **schema}
        known = _BY_TAG.get(self.tag, {}).get(name, _BY_NAME.get(name))
        for key in ("examples", "enum"):
            if key in schema:
                return known if known in schema[key] else schema[key][0]
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.of(schema[key][0], name)
        types = schema.get("type", "string")
        type_ = types[0] if isinstance(types, list) else types
        if type_ == "object":
            return self._object(schema)
        if type_ == "array":
            return [self.of(schema["items"], name)]
        if type(known) is type(_BY_TYPE[type_]):
            return known
        if name.endswith("_id"):
            return _ID
        return _BY_TYPE[type_]

    def _object(self, schema: Schema) -> dict[str, Any]:
        """Return the required members, and those that are known by name or have members themselves."""
        members: Mapping[str, Schema] = schema.get("properties", {})
        of_others = schema.get("additionalProperties")
        if not members and isinstance(of_others, Mapping):
            return {_ID: self.of(of_others)}
        required = schema.get("required", ())
        shown = [name for name, member in members.items() if name in required or name in _BY_NAME or "items" in member]
        return {name: self.of(members[name], name) for name in shown or members}
