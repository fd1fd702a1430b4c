-- Undo 0044_store_logos. The logo keeps its link, the setting logo_url; its file and alternative text are lost.
DROP TABLE store_logos;
