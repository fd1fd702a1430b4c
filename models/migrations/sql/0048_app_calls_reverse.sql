DROP TABLE app_calls;
ALTER TABLE apps DROP COLUMN call_urls;
