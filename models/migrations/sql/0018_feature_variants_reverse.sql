-- Undo 0018_feature_variants. Features of type M and their values are lost.

DROP TABLE feature_value_variants;
DELETE FROM features WHERE type = 'M';
UPDATE features SET type = 'N' WHERE type = 'O';
ALTER TABLE features DROP CONSTRAINT features_type_known;
ALTER TABLE features ADD CONSTRAINT features_type_known
    CHECK (type IN ('S', 'T', 'N', 'D', 'C', 'E', 'B', 'A', 'G'));
