-- conversations_daily: one row for each agent, channel and day with a conversation or a cost.
-- Grain: workspace_id, agent_id, channel, day
-- Month: day
-- Refresh: groups
-- Built from: marts.fct_conversations, marts.fct_spend
-- Use: dashboards. Only conversations that count (`is_counted`). Columns about conversations belong to the day on which they began, and change while
-- these conversations go on; costs belong to the day on which they were spent. Averages are quotients of sums, never averages of averages, and a
-- day may have costs, but no conversations: `sum(csat_score_sum) / nullif(sum(csat_answers), 0)`. Joins dim_calendar by `day` for weeks and months.
-- Example:
-- SELECT week_begin, sum(conversations) AS conversations, round(100 * sum(ever_resolved) / nullif(sum(conversations), 0), 1) AS resolved_percent,
--   sum(csat_score_sum) / nullif(sum(csat_answers), 0) AS csat, sum(tokens_usd) AS usd
-- FROM marts.conversations_daily JOIN marts.dim_calendar USING (workspace_id, day)
-- GROUP BY week_begin ORDER BY week_begin;
-- Columns:
--   workspace_id                      VARCHAR  none  Workspace
--   agent_id                          VARCHAR  none  Agent
--   channel                           VARCHAR  none  Channel; `unknown` if none was reported
--   day                               DATE     none  Day in the workspace's time zone
--   agent_title                       VARCHAR  none  Title of the agent
--   conversations                     BIGINT   none  Conversations that began on the day
--   messages                          BIGINT   none  Their messages
--   sessions                          BIGINT   none  Their sessions
--   resolved                          BIGINT   none  Those that are resolved now
--   ever_resolved                     BIGINT   none  Those that have ever been resolved
--   reopened                          BIGINT   none  Those that have ever been reopened
--   claimed                           BIGINT   none  Those that a person claimed
--   handed_off                        BIGINT   none  Those with a handoff
--   handoffs                          BIGINT   none  Their handoffs
--   handoffs_accepted                 BIGINT   none  Their accepted handoffs
--   handoff_waits                     BIGINT   none  Accepted handoffs whose waiting time is known
--   handoff_wait_seconds_sum          DOUBLE   none  Sum of these waiting times
--   reversed_times                    BIGINT   none  Durations of these conversations that would be negative, and handoffs with such a one, which are in no sum
--   conversations_with_transcript     BIGINT   none  Those whose turns are known: only they can have times of responses
--   first_response_seconds_sum        DOUBLE   none  Sum of the times to the first answer
--   first_responses                   BIGINT   none  Conversations with such a time
--   first_human_response_seconds_sum  DOUBLE   none  Sum of the times to the first answer by a person
--   first_human_responses             BIGINT   none  Conversations with such a time
--   seconds_to_assignment_sum         DOUBLE   none  Sum of the times to the first assignment
--   first_assignments                 BIGINT   none  Conversations with such a time
--   seconds_to_first_resolution_sum   DOUBLE   none  Sum of the times to the first resolution
--   first_resolutions                 BIGINT   none  Conversations with such a time
--   seconds_to_last_resolution_sum    DOUBLE   none  Sum of the times to the last resolution
--   last_resolutions                  BIGINT   none  Conversations with such a time
--   rating_from5_sum                  DOUBLE   none  Sum of the ratings
--   ratings                           BIGINT   none  Conversations with a rating
--   csat_score_sum                    DOUBLE   none  Sum of the satisfaction scores
--   csat_answers                      BIGINT   none  Conversations with a score
--   csat_ease_sum                     DOUBLE   none  Sum of the ease scores
--   csat_ease_answers                 BIGINT   none  Conversations with an ease score
--   leads                             BIGINT   none  Conversations with a lead: a stage or a value
--   input_tokens                      BIGINT   none  Input tokens spent on the day, by conversations of any day
--   output_tokens                     BIGINT   none  Output tokens spent on the day
--   tokens                            BIGINT   none  Tokens spent on the day
--   tokens_usd                        DOUBLE   none  Cost of the tokens spent on the day (USD)
--   credits                           DOUBLE   none  Credits spent on the day
--   llm_cost                          DOUBLE   none  Language model, on the day (unit not stated)
--   speech_cost                       DOUBLE   none  Speech generation, on the day (unit not stated)
--   transcriber_cost                  DOUBLE   none  Transcription, on the day (unit not stated)
--   call_cost                         DOUBLE   none  External calls, on the day (unit not stated)
WITH began AS (
  SELECT workspace_id, agent_id, channel, day, any_value(agent_title) AS agent_title,
    count(*) AS conversations, total(messages) AS messages, total(sessions) AS sessions,
    count(*) FILTER (is_resolved) AS resolved, count(*) FILTER (was_resolved) AS ever_resolved, count(*) FILTER (was_reopened) AS reopened,
    count(claimed_at) AS claimed, count(*) FILTER (handoffs > 0) AS handed_off,
    total(handoffs) AS handoffs, total(handoffs_accepted) AS handoffs_accepted, total(handoff_waits) AS handoff_waits,
    fsum(handoff_wait_seconds) AS handoff_wait_seconds_sum, total(reversed_times) AS reversed_times,
    count(*) FILTER (has_transcript) AS conversations_with_transcript, fsum(first_response_seconds) AS first_response_seconds_sum, count(first_response_seconds) AS first_responses,
    fsum(first_human_response_seconds) AS first_human_response_seconds_sum, count(first_human_response_seconds) AS first_human_responses,
    fsum(seconds_to_assignment) AS seconds_to_assignment_sum, count(seconds_to_assignment) AS first_assignments,
    fsum(seconds_to_first_resolution) AS seconds_to_first_resolution_sum, count(seconds_to_first_resolution) AS first_resolutions,
    fsum(seconds_to_last_resolution) AS seconds_to_last_resolution_sum, count(seconds_to_last_resolution) AS last_resolutions,
    fsum(rating_from5) AS rating_from5_sum, count(rating_from5) AS ratings,
    fsum(csat_score) AS csat_score_sum, count(csat_score) AS csat_answers, fsum(csat_ease) AS csat_ease_sum, count(csat_ease) AS csat_ease_answers,
    count(*) FILTER (is_lead(lead_stage, lead_value)) AS leads
  FROM in_groups('marts.fct_conversations') WHERE is_counted GROUP BY ALL
),
spent AS (
  SELECT workspace_id, agent_id, channel, day, any_value(agent_title) AS agent_title,
    total(input_tokens) AS input_tokens, total(output_tokens) AS output_tokens, total(tokens) AS tokens,
    fsum(tokens_usd) AS tokens_usd, fsum(credits) AS credits, fsum(llm_cost) AS llm_cost, fsum(speech_cost) AS speech_cost,
    fsum(transcriber_cost) AS transcriber_cost, fsum(call_cost) AS call_cost
  FROM in_groups('marts.fct_spend') WHERE is_counted GROUP BY ALL
)
SELECT
  workspace_id, agent_id, channel, day, coalesce(b.agent_title, s.agent_title) AS agent_title,
  coalesce(COLUMNS(b.* EXCLUDE (workspace_id, agent_id, channel, day, agent_title)), 0),
  coalesce(COLUMNS(s.* EXCLUDE (workspace_id, agent_id, channel, day, agent_title)), 0)
FROM began b FULL JOIN spent s USING (workspace_id, agent_id, channel, day)
