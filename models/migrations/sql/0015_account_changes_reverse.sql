DELETE FROM mailed_tokens WHERE purpose IN ('email_change', 'account_deletion');
ALTER TABLE mailed_tokens DROP CONSTRAINT mailed_tokens_purpose_known;
ALTER TABLE mailed_tokens ADD CONSTRAINT mailed_tokens_purpose_known CHECK (purpose IN ('password_reset', 'email_verification'));
ALTER TABLE mailed_tokens DROP COLUMN new_email;
