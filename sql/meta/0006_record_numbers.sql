-- Records and their child rows are numbered (`_record`). The columns come with the tables of the catalog, and rows that are
-- there already are numbered when they have them. This number keeps a convohouse away that would write rows without.
ALTER TABLE IF EXISTS conversations ADD COLUMN IF NOT EXISTS _record BIGINT;
