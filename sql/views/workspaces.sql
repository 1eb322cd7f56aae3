-- workspaces: one row for each workspace that has been synced. The API has no request that reads a workspace: what is known comes from the configuration and its agents.
-- Columns:
--   workspace_id  VARCHAR      none  Id of the workspace, as configured
--   time_zone     VARCHAR      none  Time zone of its days, as configured
--   regions       VARCHAR      none  Regions of its agents, separated by commas
--   agents        BIGINT       none  Agents that the vendor lists
--   listed_at     TIMESTAMPTZ  none  When its agents were last listed with a change
CREATE OR REPLACE VIEW workspaces AS
SELECT
  workspace_id, time_zone, string_agg(DISTINCT region, ', ' ORDER BY region) AS regions,
  count(agent_id) FILTER (_complete AND _missing_since IS NULL AND _deleted_at IS NULL) AS agents,
  max(_fetched_at) AS listed_at
FROM _workspaces LEFT JOIN agents USING (workspace_id)
GROUP BY ALL;
