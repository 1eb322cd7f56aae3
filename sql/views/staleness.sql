-- staleness: how many of the stored conversations have changed since they were exported, measured by the samples of the last 28 days.
-- One row for each workspace that was sampled. `stale` of the `sampled` had changed; `low` and `high` bound the share with 95 %
-- confidence (Wilson's interval). Conversations without `lastModified` are not counted.
-- Columns:
--   workspace_id  VARCHAR      none  Workspace
--   sampled_at    TIMESTAMPTZ  none  When the last sample was taken
--   sampled       BIGINT       none  Sampled conversations
--   stale         BIGINT       none  Those that had changed since they were exported
--   share         DOUBLE       none  Their share
--   low           DOUBLE       none  Lower bound of the share, with 95 % confidence
--   high          DOUBLE       none  Upper bound of the share
CREATE OR REPLACE VIEW staleness AS
WITH seen AS (
  SELECT workspace_id, kind, observed_at, modified,
    lag(modified) OVER (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY observed_at) AS held
  FROM conversation_observations
  WHERE (workspace_id, agent_id, conversation_id) IN (
    SELECT workspace_id, agent_id, conversation_id FROM conversation_observations WHERE kind = 'sample')
),
recent AS (
  SELECT *, max(observed_at) OVER (PARTITION BY workspace_id) AS newest
  FROM seen WHERE kind = 'sample' AND modified IS NOT NULL AND held IS NOT NULL
),
answered AS (
  SELECT workspace_id, newest AS sampled_at, count(*) AS sampled, count(*) FILTER (modified > held) AS stale
  FROM recent WHERE epoch_us(observed_at) > epoch_us(newest) - 28 * 86400000000
  GROUP BY ALL
),
shares AS (SELECT *, stale / sampled AS p, 1.96 * 1.96 AS z2 FROM answered)
SELECT
  workspace_id, sampled_at, sampled, stale, p AS share,
  (p + z2 / (2 * sampled) - sqrt(z2 * (p * (1 - p) + z2 / (4 * sampled)) / sampled)) / (1 + z2 / sampled) AS low,
  (p + z2 / (2 * sampled) + sqrt(z2 * (p * (1 - p) + z2 / (4 * sampled)) / sampled)) / (1 + z2 / sampled) AS high
FROM shares;
