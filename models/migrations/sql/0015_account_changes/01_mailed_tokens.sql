-- Tokens that confirm a change of an account: its new e-mail (`new_email`, while `email` is still the account's), or its deletion.
ALTER TABLE mailed_tokens ADD COLUMN new_email text;
ALTER TABLE mailed_tokens DROP CONSTRAINT mailed_tokens_purpose_known;
ALTER TABLE mailed_tokens ADD CONSTRAINT mailed_tokens_purpose_known
    CHECK (purpose IN ('password_reset', 'email_verification', 'email_change', 'account_deletion'));
