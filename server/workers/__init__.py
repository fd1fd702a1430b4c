"""Background work: webhook deliveries, bulk operations, jobs and mails."""
