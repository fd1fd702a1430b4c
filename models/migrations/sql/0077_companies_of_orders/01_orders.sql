-- What the customer's company is called in the order, and its fax number, as CS-Cart's orders have them.
ALTER TABLE orders
    ADD COLUMN company_name text NOT NULL DEFAULT '',
    ADD COLUMN fax text NOT NULL DEFAULT '';
