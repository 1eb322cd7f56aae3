-- dim_agents: one row for each agent that is listed or has a conversation.
-- Grain: workspace_id, agent_id
-- Refresh: whole
-- Built from: agents, conversations, organizations, voices
-- Shared: voice_name, organizations, organization_names
-- Use: names and settings beside the agent_id of every fact. Agents that are gone keep their row.
-- Example:
-- SELECT region, sum(conversations) AS conversations
-- FROM marts.conversations_daily JOIN marts.dim_agents USING (workspace_id, agent_id) GROUP BY region;
-- Columns:
--   workspace_id         VARCHAR      none  Workspace
--   agent_id             VARCHAR      none  Agent
--   agent_title          VARCHAR      none  Title; the id of an agent without one
--   time_zone            VARCHAR      none  Time zone of the workspace's days, as configured
--   platform             VARCHAR      word  Platform: vg or vf
--   region               VARCHAR      word  Region, e.g. eu
--   created_at           TIMESTAMPTZ  none  When it was created
--   is_disabled          BOOLEAN      none  It is disabled
--   is_deployed          BOOLEAN      none  It is deployed
--   is_listed            BOOLEAN      none  The vendor lists it: it is neither missing nor deleted
--   is_starred           BOOLEAN      none  It is starred
--   default_model        VARCHAR      code  Language model, where the agent has the setting vg_defaultModel
--   voice_provider       VARCHAR      word  Provider of the voice
--   voice_id             VARCHAR      none  Id of the voice at its provider
--   voice_name           VARCHAR      none  Name of the voice; NULL if the vendor has never listed it
--   voice_language       VARCHAR      none  BCP 47 code of the voice's language; `unknown` if the agent names none, such as `multi`
--   voice_language_name  VARCHAR      none  Name of that language in English
--   records_audio        BOOLEAN      none  Calls are recorded
--   organizations        BIGINT       none  Organizations that it is assigned to
--   organization_names   VARCHAR      none  Their names in alphabetical order, separated by commas
WITH seen AS (
  SELECT workspace_id, agent_id FROM agents
  UNION
  SELECT workspace_id, agent_id FROM conversations
),
models AS (
  SELECT workspace_id, agent_id, any_value(value_text) AS default_model
  FROM agent_settings WHERE setting = 'vg_defaultModel' GROUP BY ALL
),
assigned AS (
  SELECT a.workspace_id, a.agent_id, count(DISTINCT o.organization_id) AS organizations,
    string_agg(DISTINCT o.name, ', ' ORDER BY o.name) AS organization_names
  FROM organization_agents a JOIN organizations o USING (workspace_id, organization_id)
  WHERE o._missing_since IS NULL AND o._deleted_at IS NULL GROUP BY ALL
)
SELECT
  workspace_id, agent_id, coalesce(or_null(a.title), agent_id) AS agent_title, coalesce(w.time_zone, 'UTC') AS time_zone,
  or_unknown(a.agent_platform) AS platform, or_unknown(a.region) AS region, a.created_at,
  coalesce(a.disabled, false) AS is_disabled,
  coalesce(a.is_deployed, false) AS is_deployed,
  a.agent_id IS NOT NULL AND a._missing_since IS NULL AND a._deleted_at IS NULL AS is_listed,
  coalesce(a.is_starred, false) AS is_starred,
  or_unknown(m.default_model) AS default_model,
  or_unknown(a.voice_config_speech_gen_provider) AS voice_provider,
  or_null(a.voice_config_speech_gen_voice_id) AS voice_id,
  or_null(v.name) AS voice_name,
  coalesce(l.code, 'unknown') AS voice_language, coalesce(l.name, 'unknown') AS voice_language_name,
  a.voice_config_config_record_audio AS records_audio,
  coalesce(o.organizations, 0) AS organizations,
  o.organization_names
FROM seen
LEFT JOIN agents a USING (workspace_id, agent_id)
LEFT JOIN _workspaces w USING (workspace_id)
LEFT JOIN known_languages l ON l.text = a.voice_config_speech_gen_language
LEFT JOIN models m USING (workspace_id, agent_id)
LEFT JOIN assigned o USING (workspace_id, agent_id)
LEFT JOIN voices v
  ON v.workspace_id = a.workspace_id AND v.provider = a.voice_config_speech_gen_provider AND v.voice_id = a.voice_config_speech_gen_voice_id
