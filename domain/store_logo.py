"""The store's logo: a file or a link, as the image of a record.

Its link is the setting `logo_url`; the row of `store_logos` has its file and alternative text. The row counts while the setting is the one
it was written for: whatever changes the setting alone, such as an earlier version of the program, thereby sets another logo.
"""

from __future__ import annotations

from typing import Any

from domain.media.addresses import with_image_urls
from domain.media.images import resolve_images, resolve_rows
from domain.store_settings import setting
from kernel.fields import raise_field_errors
from kernel.product_fields import path_errors
from kernel.scope import Scope
from models.connection.database import execute, fetchval

MAX_LINK = 255
"""The characters of the setting."""

LOGOS = """(
    SELECT s.id, s.id AS tenant_id, coalesce(l.image_url, s.settings->>'logo_url', '') AS image_url,
        coalesce(l.image_alt, '') AS image_alt, l.media_id
    FROM tenants s LEFT JOIN store_logos l ON l.tenant_id = s.id AND l.setting_url = s.settings->>'logo_url'
)"""
"""The logos of stores in the columns of an image."""
_ADDRESS = "SELECT [image:l.image_url] FROM store_logos l WHERE l.tenant_id = $1 AND l.setting_url = $2"
_SAVE_SETTING = """
UPDATE tenants SET settings = CASE
    WHEN $2 = '' THEN settings - 'logo_url' ELSE settings || jsonb_build_object('logo_url', $2::text)
END
WHERE id = $1 AND coalesce(settings->>'logo_url', '') <> $2
"""
_SAVE = """
INSERT INTO store_logos AS l (tenant_id, setting_url, image_url, image_alt, media_id) VALUES ($1, $2, $2, coalesce($3::text, ''), $4)
ON CONFLICT (tenant_id) DO UPDATE SET setting_url = $2, image_url = $2, image_alt = coalesce($3, l.image_alt), media_id = $4
WHERE (l.setting_url, l.image_url, l.image_alt, l.media_id) IS DISTINCT FROM ($2, $2, coalesce($3, l.image_alt), $4::bigint)
"""
_DELETE = "DELETE FROM store_logos WHERE tenant_id = $1"


async def load_address(scope: Scope) -> str:
    """Return the address of the logo, empty without one."""
    link = setting(scope, "logo_url")
    address: str | None = await fetchval(with_image_urls(_ADDRESS), scope.store.id, link) if link else None
    return address or str(link)


async def update_logo(scope: Scope, image: dict[str, Any], stored_link: str) -> bool:
    """Set the logo to an image of `domain.media.images.read_image`, in a transaction that locks the store; return whether that changed it.

    Raises ValidationFailed.
    """
    errors = await resolve_rows(scope, [image], {0: stored_link})
    link = image["image_url"]
    if not errors and len(link) > MAX_LINK:
        errors[0] = ("url", ("url_invalid", f"url has {len(link)} characters; expected at most {MAX_LINK}"))
    raise_field_errors({f"logo.{name}": error for name, error in errors.values()})
    changed = await execute(_SAVE_SETTING, scope.store.id, link)
    return await _save(scope, link, image.get("image_alt"), image["media_id"]) or changed > 0


async def update_link(scope: Scope, link: str, stored_link: str) -> str:
    """Set the logo of a new value of the setting and return the value to store: what names a file of the store becomes its link.

    Raises ValidationFailed.
    """
    image: dict[str, Any] = {"url": link} if link else {}
    await resolve_images(scope, [image])
    # CS-Cart programs set a path; the setting is shown, never fetched.
    if image["media_id"] is None and scope.family != "legacy":
        raise_field_errors(path_errors(scope, "logo_url", link, (stored_link,), code="setting_invalid"))
    resolved: str = image["url"]
    if resolved != stored_link:
        await _save(scope, resolved, "", image["media_id"])
    return resolved


async def _save(scope: Scope, link: str, alt: str | None, media_id: int | None) -> bool:
    if not link:
        return await execute(_DELETE, scope.store.id) > 0
    return await execute(_SAVE, scope.store.id, link, alt, media_id) > 0
