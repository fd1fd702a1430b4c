-- Which of the indexes suits a page depends on how many sessions have ended.
ANALYZE sessions;
