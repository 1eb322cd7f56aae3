-- Returns a row if the replaced facts had a workspace's first or last day and the new ones lack it, or if the new ones lie outside of these days
-- or were seen after them: a day that was in the future is none any more.
WITH known AS (SELECT workspace_id, min(day) AS first_day, max(day) AS last_day FROM marts.dim_calendar GROUP BY ALL),
stale AS (
  SELECT workspace_id, min(day) AS first_day, max(day) AS last_day FROM (
    SELECT workspace_id, day FROM stale_fct_conversations
    UNION ALL SELECT workspace_id, day FROM stale_fct_spend
    UNION ALL SELECT workspace_id, day FROM stale_fct_handoffs
    UNION ALL SELECT workspace_id, day FROM stale_fct_csat
    UNION ALL SELECT workspace_id, day FROM stale_fct_token_usage
    UNION ALL SELECT workspace_id, day FROM stale_fct_state_spans
    UNION ALL SELECT workspace_id, day FROM stale_fct_turns
    UNION ALL SELECT workspace_id, day FROM stale_fct_responses
    UNION ALL SELECT workspace_id, day FROM stale_fct_resolutions
  ) GROUP BY ALL
),
fresh AS (
  SELECT workspace_id, min(day) AS first_day, max(day) AS last_day FROM (
    SELECT workspace_id, day FROM fresh_fct_conversations
    UNION ALL SELECT workspace_id, local_day(greatest(as_of, last_observed_at), time_zone) FROM fresh_fct_conversations LEFT JOIN _workspaces USING (workspace_id)
    UNION ALL SELECT workspace_id, day FROM fresh_fct_spend
    UNION ALL SELECT workspace_id, day FROM fresh_fct_handoffs
    UNION ALL SELECT workspace_id, day FROM fresh_fct_csat
    UNION ALL SELECT workspace_id, day FROM fresh_fct_token_usage
    UNION ALL SELECT workspace_id, day FROM fresh_fct_state_spans
    UNION ALL SELECT workspace_id, day FROM fresh_fct_turns
    UNION ALL SELECT workspace_id, day FROM fresh_fct_responses
    UNION ALL SELECT workspace_id, day FROM fresh_fct_resolutions
  ) GROUP BY ALL
)
SELECT 1
FROM stale s FULL JOIN fresh f USING (workspace_id) LEFT JOIN known k USING (workspace_id)
WHERE f.first_day < coalesce(k.first_day, DATE 'infinity') OR f.last_day > coalesce(k.last_day, DATE '-infinity')
  OR (s.first_day <= k.first_day AND f.first_day IS DISTINCT FROM k.first_day)
  OR (s.last_day >= k.last_day AND f.last_day IS DISTINCT FROM k.last_day)
LIMIT 1
