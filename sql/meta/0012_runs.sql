-- How a run ended and who asked for it, also where it failed before it had a plan. NULL in rows of earlier versions.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS origin VARCHAR;
-- embedded, or temporal.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS host VARCHAR;
-- The process that held the warehouse, and when a running sync last reported that it was alive.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS pid BIGINT;
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS seen_at TIMESTAMP;
-- When it was paused; NULL: it is not paused.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS paused_at TIMESTAMP;
-- Why it failed; for a run that continues, why its last attempt failed.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS error_code VARCHAR;
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS error VARCHAR;
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS hint VARCHAR;
-- Records and events that were quarantined since the run before it.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS quarantined BIGINT;
-- True where the request was fulfilled. History may still wait for sessions that are reserved for new conversations.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS success BOOLEAN;
UPDATE _runs SET success = outcome IN ('done', 'limit-reached', 'preempted') WHERE outcome IS NOT NULL;
