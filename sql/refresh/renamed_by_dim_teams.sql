-- Adds to `changed_conversations` those with a handoff to a changed team: by its id, by its key, or by a key that led to it before; and
-- those without an organization whose key leads to another team now.
INSERT INTO changed_conversations
WITH changed AS (SELECT workspace_id, team_id FROM changed_dim_teams),
keys AS (SELECT DISTINCT workspace_id, organization_id, team_key FROM marts.dim_teams SEMI JOIN changed USING (workspace_id, team_id) WHERE trim(team_key) <> ''),
alone AS (
  SELECT workspace_id, team_key, min({is_gone: NOT is_listed, team_id: team_id}).team_id AS team_id FROM marts.dim_teams
  WHERE trim(team_key) <> '' GROUP BY ALL HAVING count(DISTINCT coalesce(organization_id, '')) = 1
),
concerned AS (
  SELECT workspace_id, agent_id, conversation_id FROM conversation_handoff_team_ids SEMI JOIN changed USING (workspace_id, team_id)
  UNION
  SELECT workspace_id, agent_id, conversation_id
  FROM (SELECT workspace_id, agent_id, conversation_id, unnest(list_concat(coalesce(string_split(team_ids, ', '), []), [requested_team_id])) AS team_id FROM marts.fct_handoffs
    WHERE team_ids IS NOT NULL OR requested_team_id IS NOT NULL)
  SEMI JOIN changed USING (workspace_id, team_id)
  UNION
  SELECT h.workspace_id, h.agent_id, h.conversation_id
  FROM conversation_handoffs h
  LEFT JOIN conversation_handoff_team_keys k ON k.workspace_id = h.workspace_id AND k.agent_id = h.agent_id AND k.conversation_id = h.conversation_id
    AND k.handoff_position = h.position
  JOIN keys n ON n.workspace_id = h.workspace_id AND n.organization_id = h.organization_id AND n.team_key IN (h.requested_team_key, k.team_key)
  UNION
  SELECT h.workspace_id, h.agent_id, h.conversation_id
  FROM marts.fct_handoffs h LEFT JOIN alone a ON a.workspace_id = h.workspace_id AND a.team_key = h.requested_team_key
  WHERE h.organization_id IS NULL AND h.requested_team_key IS NOT NULL AND h.requested_team_id IS DISTINCT FROM a.team_id
)
FROM concerned ANTI JOIN changed_conversations USING (workspace_id, agent_id, conversation_id)
