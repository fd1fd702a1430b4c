DROP TABLE invoice_holds;
