-- conversation_changes: the changes of a conversation between two observations, and its first observation.
-- One row for the first observation, which has no previous values, and one for each later one whose state, stage, assignee or
-- resolution differs from the value known before. `changed` names the columns that had another value before: a first reported
-- value is no change. Derives from observations ordered by version, so it does not depend on their order of arrival. An export reports all
-- values; an event reports some: a value that it leaves out stays, and one that it reports as null is null from then on.
-- Columns:
--   workspace_id         VARCHAR      none   Workspace
--   agent_id             VARCHAR      none   Agent
--   conversation_id      VARCHAR      none   Conversation
--   changed_at           TIMESTAMPTZ  none   Version of the observation: the record's own last change, else when it was seen
--   observed_at          TIMESTAMPTZ  none   When it was seen
--   first_seen           BOOLEAN      none   It is the first observation
--   changed              VARCHAR[]    none   Names of the columns that had another value before
--   previous_state       VARCHAR      word   State before
--   state                VARCHAR      word   State
--   previous_stage       VARCHAR      label  Lead stage before
--   stage                VARCHAR      label  Lead stage
--   previous_assignee    VARCHAR      staff  Whom the chat was assigned to before
--   assignee             VARCHAR      staff  Whom the chat is assigned to
--   previously_resolved  BOOLEAN      none   It was resolved before
--   is_resolved          BOOLEAN      none   It is resolved
CREATE OR REPLACE VIEW conversation_changes AS
WITH seen AS (
  SELECT
    workspace_id, agent_id, conversation_id, observed_at, version,
    row_number() OVER (PARTITION BY workspace_id, agent_id, conversation_id
      ORDER BY version, observed_at, source, kind, state, stage, chat_assigned_to, is_resolved) AS nth,
    -- NULL if the observation does not report the column, else a list with its value, so that a reported null counts as a value.
    CASE WHEN reported IS NULL OR list_contains(reported, 'state') THEN [state] END AS state,
    CASE WHEN reported IS NULL OR list_contains(reported, 'stage') THEN [stage] END AS stage,
    CASE WHEN reported IS NULL OR list_contains(reported, 'chat_assigned_to') THEN [chat_assigned_to] END AS assignee,
    CASE WHEN reported IS NULL OR list_contains(reported, 'is_resolved') THEN [is_resolved] END AS is_resolved
  FROM conversation_observations
),
known AS (
  SELECT
    workspace_id, agent_id, conversation_id, observed_at, version, nth,
    last_value(state IGNORE NULLS) OVER so_far AS state,
    last_value(stage IGNORE NULLS) OVER so_far AS stage,
    last_value(assignee IGNORE NULLS) OVER so_far AS assignee,
    last_value(is_resolved IGNORE NULLS) OVER so_far AS is_resolved
  FROM seen
  WINDOW so_far AS (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY nth
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
pairs AS (
  SELECT
    *,
    lag(state) OVER before AS previous_state,
    lag(stage) OVER before AS previous_stage,
    lag(assignee) OVER before AS previous_assignee,
    lag(is_resolved) OVER before AS previously_resolved
  FROM known
  WINDOW before AS (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY nth)
)
SELECT
  workspace_id, agent_id, conversation_id, version AS changed_at, observed_at, nth = 1 AS first_seen,
  list_filter([
    CASE WHEN previous_state IS NOT NULL AND state IS DISTINCT FROM previous_state THEN 'state' END,
    CASE WHEN previous_stage IS NOT NULL AND stage IS DISTINCT FROM previous_stage THEN 'stage' END,
    CASE WHEN previous_assignee IS NOT NULL AND assignee IS DISTINCT FROM previous_assignee THEN 'assignee' END,
    CASE WHEN previously_resolved IS NOT NULL AND is_resolved IS DISTINCT FROM previously_resolved THEN 'is_resolved' END
  ], lambda name: name IS NOT NULL) AS changed,
  previous_state[1] AS previous_state, state[1] AS state,
  previous_stage[1] AS previous_stage, stage[1] AS stage,
  previous_assignee[1] AS previous_assignee, assignee[1] AS assignee,
  previously_resolved[1] AS previously_resolved, is_resolved[1] AS is_resolved
FROM pairs
WHERE nth = 1
  OR (state[1], stage[1], assignee[1], is_resolved[1])
    IS DISTINCT FROM (previous_state[1], previous_stage[1], previous_assignee[1], previously_resolved[1]);
