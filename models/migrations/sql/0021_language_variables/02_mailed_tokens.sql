-- Keys that sign a user in, created for administrators: `POST /api/auth`.
ALTER TABLE mailed_tokens DROP CONSTRAINT mailed_tokens_purpose_known;
ALTER TABLE mailed_tokens ADD CONSTRAINT mailed_tokens_purpose_known
    CHECK (purpose IN ('password_reset', 'email_verification', 'email_change', 'account_deletion', 'sign_in'));
