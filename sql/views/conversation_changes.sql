-- conversation_changes: what changed of a conversation between two times that it was seen.
-- One row for each observation whose state, stage, assignee or resolution differs from the one before it. It derives from
-- observations ordered by version, so it does not depend on the order in which they arrived. An event tells a part of the
-- record: what it leaves out is as it was seen before.
CREATE OR REPLACE VIEW conversation_changes AS
WITH told AS (
  SELECT
    workspace_id, agent_id, conversation_id, observed_at, version,
    CASE WHEN source = 'webhook' THEN last_value(state IGNORE NULLS) OVER so_far ELSE state END AS state,
    CASE WHEN source = 'webhook' THEN last_value(stage IGNORE NULLS) OVER so_far ELSE stage END AS stage,
    CASE WHEN source = 'webhook' THEN last_value(chat_assigned_to IGNORE NULLS) OVER so_far ELSE chat_assigned_to END AS chat_assigned_to,
    CASE WHEN source = 'webhook' THEN last_value(is_resolved IGNORE NULLS) OVER so_far ELSE is_resolved END AS is_resolved
  FROM conversation_observations
  WINDOW so_far AS (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY version, observed_at
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
ordered AS (
  SELECT
    *,
    lag(state) OVER seen AS previous_state,
    lag(stage) OVER seen AS previous_stage,
    lag(chat_assigned_to) OVER seen AS previous_assignee,
    lag(is_resolved) OVER seen AS previously_resolved,
    row_number() OVER seen AS nth
  FROM told
  WINDOW seen AS (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY version, observed_at)
)
SELECT
  workspace_id, agent_id, conversation_id, version AS changed_at, observed_at,
  previous_state, state, previous_stage, stage,
  previous_assignee, chat_assigned_to AS assignee, previously_resolved, is_resolved
FROM ordered
WHERE nth > 1
  AND (state, stage, chat_assigned_to, is_resolved)
    IS DISTINCT FROM (previous_state, previous_stage, previous_assignee, previously_resolved);
