-- Undo 0021_language_variables. Everything in the table is lost, and the keys that sign users in, which are valid for a minute.

DROP TABLE language_variables;
DELETE FROM number_counters WHERE entity = 'language_variables';
DELETE FROM mailed_tokens WHERE purpose = 'sign_in';
ALTER TABLE mailed_tokens DROP CONSTRAINT mailed_tokens_purpose_known;
ALTER TABLE mailed_tokens ADD CONSTRAINT mailed_tokens_purpose_known
    CHECK (purpose IN ('password_reset', 'email_verification', 'email_change', 'account_deletion'));
