-- Undo 0077_companies_of_orders. The values are lost.
ALTER TABLE orders DROP COLUMN company_name, DROP COLUMN fax;
