"""Make warehouses, where they deliver and to whom."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import Operation

from models.migrations._operations import StateOnly, run_files, store_model


class Migration(Base):
    """Follow the inboxes."""

    dependencies: list[tuple[str, str]] = [("models", "0008_deliveries")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0009_warehouses", backward="0009_warehouses_reverse.sql"),
        StateOnly(
            store_model(
                "Warehouse",
                "warehouses",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                vendor="-> Vendor.warehouses?",
                name="text",
                name_folded="text!",
                code="text",
                description="text",
                status="text",
                address="text",
                city="text",
                state="text",
                country="text",
                zipcode="text",
                phone="text",
                email="text",
                latitude="text",
                longitude="text",
                priority="int",
                is_default="bool",
                shipping_delay="int",
                min_items_in_box="int",
                max_items_in_box="int",
            ),
            store_model(
                "WarehouseArea",
                "warehouse_areas",
                created_at="moment",
                updated_at="moment",
                warehouse="-> Warehouse.areas",
                name="text",
                states="text[]",
                cities="text[]",
                delivery_time="int",
                status="text",
            ),
            store_model(
                "WarehouseZipcodes",
                "warehouse_zipcodes",
                area="-> WarehouseArea.zipcodes",
                zipcode_from="text",
                zipcode_to="text",
                first_cep="int",
                last_cep="int",
            ),
            store_model(
                "WarehouseUsergroup",
                "warehouse_usergroups",
                created_at="moment",
                updated_at="moment",
                warehouse="-> Warehouse.usergroups",
                usergroup="-> Usergroup.warehouses",
                priority="int",
                allocation_type="text",
                status="text",
            ),
        ),
    ]
