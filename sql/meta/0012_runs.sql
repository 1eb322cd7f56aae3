-- How a run ended and who asked for it, also where it failed before it had a plan. NULL in rows of earlier versions.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS origin VARCHAR;
-- embedded, or temporal.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS host VARCHAR;
-- The process that held the warehouse; and, of a run that has not ended, when it was last known to be at it.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS pid BIGINT;
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS seen_at TIMESTAMP;
-- Since when it is paused; NULL: it is not.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS paused_at TIMESTAMP;
-- Why it did not come to its end; of one that goes on, why its last attempt failed.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS error_code VARCHAR;
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS error VARCHAR;
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS hint VARCHAR;
-- Records and events that were quarantined since the run before it.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS quarantined BIGINT;
-- True where it did what it was asked for, though history may wait for sessions that are kept for new conversations.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS success BOOLEAN;
UPDATE _runs SET success = outcome IN ('done', 'limit-reached', 'preempted') WHERE outcome IS NOT NULL;
