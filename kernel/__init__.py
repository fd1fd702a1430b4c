"""Hold what every floor may know: errors, scope, settings, money, ids, time. No outside knowledge."""
