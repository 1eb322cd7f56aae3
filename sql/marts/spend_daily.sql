-- spend_daily: one row for each agent, channel and day on which costs grew or conversations began.
-- Grain: workspace_id, agent_id, channel, day
-- Month: day
-- Refresh: groups
-- Groups: workspace_id, agent_id, day
-- Built from: marts.fct_conversations, marts.fct_spend
-- Use: every cost measure of the record side by side. Only conversations that count (`is_counted`). Each measure is there twice: as it was spent on the day, by
-- conversations of any day (fct_spend), and, as `lifetime_...`, for the whole life of the conversations that began on the day, so far (fct_conversations).
-- Over all days of an agent and channel both add up to the same. Costs per conversation are `sum(lifetime_...) / nullif(sum(conversations), 0)`. The vendor does not
-- say whether one measure includes another, and states no unit for most: never add different measures up.
-- Example:
-- SELECT c.month_begin, sum(s.credits) AS spent, sum(s.lifetime_credits) / nullif(sum(s.conversations), 0) AS credits_per_conversation
-- FROM marts.spend_daily s JOIN marts.dim_calendar c USING (workspace_id, day) GROUP BY c.month_begin ORDER BY c.month_begin;
-- Columns:
--   workspace_id               VARCHAR  none  Workspace
--   agent_id                   VARCHAR  none  Agent
--   channel                    VARCHAR  none  Channel; `unknown` if none was reported
--   day                        DATE     none  Day in the workspace's time zone
--   agent_title                VARCHAR  none  Title of the agent
--   conversations              BIGINT   none  Conversations that began on the day
--   conversations_with_spend   BIGINT   none  Conversations of any day whose costs changed on the day; one may count on several days
--   input_tokens               BIGINT   none  Input tokens, spent on the day
--   output_tokens              BIGINT   none  Output tokens, spent on the day
--   tokens                     BIGINT   none  All tokens, spent on the day
--   tokens_usd                 DOUBLE   none  Cost of the tokens (USD), spent on the day
--   credits                    DOUBLE   none  Credits, spent on the day
--   llm_cost                   DOUBLE   none  Language model (unit not stated), spent on the day
--   speech_cost                DOUBLE   none  Speech generation (unit not stated), spent on the day
--   transcriber_cost           DOUBLE   none  Transcription (unit not stated), spent on the day
--   call_cost                  DOUBLE   none  External calls (unit not stated), spent on the day
--   lifetime_input_tokens      BIGINT   none  Input tokens, whole life of the conversations that began on the day
--   lifetime_output_tokens     BIGINT   none  Output tokens, whole life of the conversations that began on the day
--   lifetime_tokens            BIGINT   none  All tokens, whole life of the conversations that began on the day
--   lifetime_tokens_usd        DOUBLE   none  Cost of the tokens (USD), whole life of the conversations that began on the day
--   lifetime_credits           DOUBLE   none  Credits, whole life of the conversations that began on the day
--   lifetime_llm_cost          DOUBLE   none  Language model (unit not stated), whole life of the conversations that began on the day
--   lifetime_speech_cost       DOUBLE   none  Speech generation (unit not stated), whole life of the conversations that began on the day
--   lifetime_transcriber_cost  DOUBLE   none  Transcription (unit not stated), whole life of the conversations that began on the day
--   lifetime_call_cost         DOUBLE   none  External calls (unit not stated), whole life of the conversations that began on the day
WITH began AS (
  SELECT workspace_id, agent_id, channel, day, any_value(agent_title) AS agent_title, count(*) AS conversations,
    total(input_tokens) AS lifetime_input_tokens, total(output_tokens) AS lifetime_output_tokens, total(tokens) AS lifetime_tokens, fsum(tokens_usd) AS lifetime_tokens_usd, fsum(credits) AS lifetime_credits, fsum(llm_cost) AS lifetime_llm_cost, fsum(speech_cost) AS lifetime_speech_cost, fsum(transcriber_cost) AS lifetime_transcriber_cost, fsum(call_cost) AS lifetime_call_cost
  FROM in_groups('marts.fct_conversations') WHERE is_counted GROUP BY workspace_id, agent_id, channel, day
),
spent AS (
  SELECT workspace_id, agent_id, channel, day, any_value(agent_title) AS agent_title, count(*) AS conversations_with_spend,
    total(input_tokens) AS input_tokens, total(output_tokens) AS output_tokens, total(tokens) AS tokens, fsum(tokens_usd) AS tokens_usd, fsum(credits) AS credits, fsum(llm_cost) AS llm_cost, fsum(speech_cost) AS speech_cost, fsum(transcriber_cost) AS transcriber_cost, fsum(call_cost) AS call_cost
  FROM in_groups('marts.fct_spend') WHERE is_counted GROUP BY workspace_id, agent_id, channel, day
)
SELECT
  workspace_id, agent_id, channel, day, coalesce(b.agent_title, s.agent_title) AS agent_title, coalesce(b.conversations, 0) AS conversations,
  coalesce(COLUMNS(s.* EXCLUDE (workspace_id, agent_id, channel, day, agent_title)), 0),
  coalesce(COLUMNS(b.* EXCLUDE (workspace_id, agent_id, channel, day, agent_title, conversations)), 0)
FROM began b FULL JOIN spent s USING (workspace_id, agent_id, channel, day)
