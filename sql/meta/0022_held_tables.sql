-- Tables of records that a failed check held back: the target has them in an earlier state, or not at all.
ALTER TABLE _publications ADD COLUMN held VARCHAR[];
-- Of these, the tables that have no rows in the target, because it was written from empty while the check failed.
ALTER TABLE _publications ADD COLUMN held_empty VARCHAR[];
