DROP TABLE order_mails;
