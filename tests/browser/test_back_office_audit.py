"""The audit log in the back office: who did what, and to which record."""

from __future__ import annotations

import json

from domain.catalog.categories import CATEGORY_RECORDS
from kernel.scope import active_scope
from tests.browser.office import OFFICE_MARKS, Clerk, each_width
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS


@each_width
async def test_the_audit_log_names_the_fields_that_an_action_wrote(clerk: Clerk) -> None:
    scope = system_scope(clerk.store)
    with active_scope(scope):
        number = await CATEGORY_RECORDS.create(scope, {"name": f"Cestos {clerk.width.name}"})
        await CATEGORY_RECORDS.update(scope, number, {"name": f"Balaios {clerk.width.name}", "position": 7})
    record = await value(clerk.store, "select public_id from categories where id = $1", number)
    staff = await add_user(clerk.store, "view_settings", "view_catalog", "view_products")
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    filters = json.dumps({"subject_id": str(record), "action": "category.updated"})
    await clerk.go(f"/audit_entry?filter={filters}", "Auditoria")
    await clerk.page.wait_for("document.querySelectorAll('[data-action]').length === 1")
    await clerk.see("Posição")
    await clerk.check("audit")
    await clerk.press("Ver")
    await clerk.page.wait_for("document.querySelector('main h1')?.innerText.includes('Balaios')")
