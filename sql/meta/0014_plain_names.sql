-- Columns whose names said "told" or "mended" are called what they hold.
-- When the answer that reported the quota was requested.
ALTER TABLE _quota RENAME COLUMN told_at TO reported_at;
-- Whether the page's records were coerced, on the tolerant path.
ALTER TABLE _loads RENAME COLUMN mended TO coerced;
-- The observed columns that an event carried, null values included; NULL: an export, which carries all.
ALTER TABLE conversation_observations RENAME COLUMN told TO reported;
