-- Undo 0021_language_variables. Everything in the table is lost.

DROP TABLE language_variables;
DELETE FROM number_counters WHERE entity = 'language_variables';
