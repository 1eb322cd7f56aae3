-- fct_conversations: one row for each conversation.
-- Grain: workspace_id, agent_id, conversation_id
-- Month: day
-- Refresh: conversations
-- Built from: conversations, conversation_observations, conversation_transcripts, marts.dim_agents, marts.dim_people, marts.fct_handoffs,
--   marts.fct_responses
-- Joins: assignee_id = dim_people.user_id, resolved_by = dim_people.user_id
-- Shared: assignee_name, resolved_by_name
-- Use: `WHERE is_counted` for every figure about customers; `is_test` and `is_complete` say why a row is left out. Costs are those of the whole
-- life of a conversation: for costs by day use conversations_daily, fct_spend or token_usage_daily. Values of leads have currencies: group by
-- `lead_currency`. Every number may change while the conversation goes on; `last_activity_at` says how far it has gone.
-- Example:
-- SELECT agent_title, count(*) AS conversations, median(first_human_response_seconds) AS median_seconds
-- FROM marts.fct_conversations WHERE is_counted AND handoffs > 0
-- GROUP BY agent_title ORDER BY conversations DESC;
-- Columns:
--   workspace_id                  VARCHAR      none      Workspace
--   agent_id                      VARCHAR      none      Agent
--   conversation_id               VARCHAR      none      Conversation
--   agent_title                   VARCHAR      none      Title of the agent
--   channel                       VARCHAR      none      Channel; `unknown` if none was reported
--   day                           DATE         none      Day of the first message (else of `ts`) in the workspace's time zone
--   started_at                    TIMESTAMPTZ  none      First message, else `ts`
--   local_hour                    BIGINT       none      Hour of the start in the workspace's time zone, 0 to 23
--   weekday                       BIGINT       none      Day of the week of `day`, 1 (Monday) to 7 (Sunday)
--   last_activity_at              TIMESTAMPTZ  none      Last message
--   duration_seconds              DOUBLE       none      From the start to the last message, pauses included
--   reported_duration_seconds     DOUBLE       none      Duration as the vendor reports it, which does not say what it counts
--   is_counted                    BOOLEAN      none      It counts in aggregates: complete, no test, and with a day
--   is_test                       BOOLEAN      none      A test conversation; never NULL
--   is_complete                   BOOLEAN      none      It was exported; false: known from events alone
--   is_missing                    BOOLEAN      none      The vendor no longer has it
--   is_stale                      BOOLEAN      none      It is known to have changed since it was exported
--   as_of                         TIMESTAMPTZ  none      The row is at least this fresh
--   last_observed_at              TIMESTAMPTZ  none      When it was last seen, in an export or an event
--   state                         VARCHAR      word      State, e.g. ended_chat; `unknown` if none was reported
--   end_reason                    VARCHAR      word      Why it ended; `unknown` if it has not, or if none was reported
--   language                      VARCHAR      none      Language of the contact as a BCP 47 code, e.g. en or pt-BR, from a code or name as sent
--   language_name                 VARCHAR      none      Its name in English
--   country_code                  VARCHAR      word      Country of the contact
--   contact_id                    VARCHAR      identity  Contact of the agent, as in dim_contacts; NULL if nothing identifies it
--   contact_name                  VARCHAR      identity  Name of the contact
--   contact_email                 VARCHAR      identity  Email address of the contact, in lower case
--   contact_phone                 VARCHAR      identity  Telephone number of the contact, as sent
--   messages                      BIGINT       none      Messages
--   sessions                      BIGINT       none      Sessions
--   has_transcript                BOOLEAN      none      Its turns are known, from events: only then are the times of responses known
--   first_response_seconds        DOUBLE       none      From the contact's first message to the first answer by the agent or a person
--   first_human_response_seconds  DOUBLE       none      From the contact's first message to the first answer by a person
--   first_assigned_at             TIMESTAMPTZ  none      Earliest known assignment to a person; NULL if only its date is known
--   seconds_to_assignment         DOUBLE       none      From the start to `first_assigned_at`
--   claimed_at                    TIMESTAMPTZ  none      When a person claimed it
--   is_resolved                   BOOLEAN      none      It is resolved now
--   was_resolved                  BOOLEAN      none      It has ever been resolved, whether reopened since or not
--   first_resolved_at             TIMESTAMPTZ  none      Earliest known resolution; NULL if that before a reopening was never seen
--   seconds_to_first_resolution   DOUBLE       none      From the start to `first_resolved_at`
--   last_resolved_at              TIMESTAMPTZ  none      Latest known resolution
--   seconds_to_last_resolution    DOUBLE       none      From the start to `last_resolved_at`
--   was_reopened                  BOOLEAN      none      It has ever been reopened: a share of `was_resolved`
--   reopens                       BIGINT       none      Known reopenings
--   handoffs                      BIGINT       none      Handoffs to people
--   handoffs_accepted             BIGINT       none      Handoffs that a person accepted
--   handoff_waits                 BIGINT       none      Accepted handoffs whose waiting time is known
--   handoff_wait_seconds          DOUBLE       none      Sum of these waiting times
--   handoff_longest_wait_seconds  DOUBLE       none      Longest of these waiting times
--   reversed_times                BIGINT       none      Durations of this row that would be negative, and handoffs with such a one: NULL, and in no sum
--   people                        BIGINT       none      People involved: assignees, and who accepted or resolved
--   assignee_id                   VARCHAR      staff     Current assignee
--   assignee_name                 VARCHAR      staff     Name of the current assignee
--   resolved_by                   VARCHAR      staff     Who resolved it last
--   resolved_by_name              VARCHAR      staff     Name of who resolved it last
--   requested_team_key            VARCHAR      none      Team that was asked for
--   agent_took_part               BOOLEAN      none      The agent answered at all: it wrote, used tokens or is writing now
--   person_took_part              BOOLEAN      none      A person took over: accepted a handoff, was assigned, claimed it, or wrote
--   outcome                       VARCHAR      none      resolved_by_agent (alone), resolved_by_person, resolved_unattributed (neither took part), reopened (and not resolved since), abandoned (ended while waiting for a person), ended_unresolved or open
--   reopened_at                   TIMESTAMPTZ  none      Latest known reopening
--   closed_at                     TIMESTAMPTZ  none      When it was resolved, else the last message of one that has ended; NULL if it is open
--   rating_from5                  DOUBLE       none      Rating (range not stated); NULL if negative, which is a data issue
--   csat_score                    DOUBLE       none      Satisfaction in the survey, likewise
--   csat_ease                     DOUBLE       none      Ease in the survey, likewise
--   csat_submitted_at             TIMESTAMPTZ  none      When the survey was answered
--   input_tokens                  BIGINT       none      Input tokens
--   output_tokens                 BIGINT       none      Output tokens
--   tokens                        BIGINT       none      All tokens
--   tokens_usd                    DOUBLE       none      Cost of the tokens (USD)
--   credits                       DOUBLE       none      Credits
--   llm_cost                      DOUBLE       none      Language model (unit not stated)
--   speech_cost                   DOUBLE       none      Speech generation (unit not stated)
--   transcriber_cost              DOUBLE       none      Transcription (unit not stated)
--   call_cost                     DOUBLE       none      External call (unit not stated)
--   lead_stage                    VARCHAR      label     Stage of the lead; `unknown` if none is stated
--   lead_value                    DOUBLE       none      Value of the lead, in `lead_currency`
--   lead_currency                 VARCHAR      none      Currency in upper case; `unknown` if none is stated
--   lead_score                    DOUBLE       none      Score of the lead
--   lead_temperature              VARCHAR      word      How hot the lead is, e.g. hot
WITH base AS (
  SELECT *, coalesce(first_message_ts, ts) AS started_at, contact_email(user_email) AS contact_email FROM scoped('conversations')
),
-- An export reports all values, an event only those that `reported` names.
resolutions_seen AS (
  SELECT workspace_id, agent_id, conversation_id, resolved_at, is_resolved(is_resolved, resolved_at) AS resolved,
    lag(is_resolved(is_resolved, resolved_at)) OVER (PARTITION BY workspace_id, agent_id, conversation_id
      ORDER BY version, observed_at, source, kind, is_resolved, resolved_at) AS resolved_before
  FROM scoped('conversation_observations')
  WHERE reported IS NULL OR list_contains(reported, 'is_resolved') OR list_contains(reported, 'resolved_at')
),
resolutions AS (
  SELECT workspace_id, agent_id, conversation_id, min(resolved_at) AS earliest, max(resolved_at) AS latest,
    bool_or(resolved) AS ever, count(*) FILTER (resolved_before AND NOT resolved) AS reopens
  FROM resolutions_seen GROUP BY ALL
),
observations AS (
  SELECT workspace_id, agent_id, conversation_id, max(observed_at) AS last_observed_at FROM scoped('conversation_observations') GROUP BY ALL
),
responses AS (
  SELECT workspace_id, agent_id, conversation_id, any_value(wait_seconds) FILTER (metric = 'first_response') AS first_seconds,
    any_value(wait_seconds) FILTER (metric = 'first_human_response') AS human_seconds, count(*) FILTER (is_reversed) AS reversed
  FROM scoped('marts.fct_responses') WHERE metric IN ('first_response', 'first_human_response') GROUP BY ALL
),
transcripts AS (
  SELECT workspace_id, agent_id, conversation_id, coalesce(bool_or(sender_of(role) = 'agent'), false) AS agent_wrote,
    coalesce(bool_or(sender_of(role) = 'person'), false) AS person_wrote
  FROM scoped('conversation_turns') GROUP BY ALL
),
handoffs AS (
  SELECT workspace_id, agent_id, conversation_id, count(*) AS handoffs, count(accepted_at) AS accepted,
    sum(wait_seconds) AS waited, max(wait_seconds) AS longest, count(wait_seconds) AS waits, count(*) FILTER (is_reversed) AS reversed,
    bool_or(accepted_at IS NULL AND completed_at IS NULL) AS is_waiting
  FROM scoped('marts.fct_handoffs') GROUP BY ALL
),
assignments AS (
  SELECT workspace_id, agent_id, conversation_id, min({assigned_at: assigned_at, is_timed: NOT is_date(assigned_at_text)}) AS first FROM (
    SELECT workspace_id, agent_id, conversation_id, assigned_at, assigned_at_text FROM scoped('conversation_assigned_users')
    UNION ALL SELECT workspace_id, agent_id, conversation_id, assigned_to_assigned_at, assigned_to_assigned_at_text FROM base
  ) WHERE assigned_at IS NOT NULL GROUP BY ALL
),
involved AS (
  SELECT workspace_id, agent_id, conversation_id, count(DISTINCT user_id) AS people, bool_or(is_handling) AS are_handling FROM (
    SELECT workspace_id, agent_id, conversation_id, user_id, true AS is_handling FROM scoped('conversation_assigned_users')
    UNION ALL SELECT workspace_id, agent_id, conversation_id, user_id, true FROM scoped('conversation_assigned_ids')
    UNION ALL SELECT workspace_id, agent_id, conversation_id, accepted_by, true FROM scoped('conversation_handoffs')
    UNION ALL SELECT workspace_id, agent_id, conversation_id, unnest([chat_assigned_to, assigned_to_user_id]), true FROM base
    -- This person may only have closed what the agent resolved, or may be an automatic rule.
    UNION ALL SELECT workspace_id, agent_id, conversation_id, resolved_by, false FROM base
  ) WHERE trim(user_id) <> '' GROUP BY ALL
),
known AS (
  SELECT c.*,
    coalesce(c.is_test, false) AS test, coalesce(c._complete, false) AS complete,
    CASE WHEN a.first.is_timed THEN a.first.assigned_at END AS assigned_at,
    least(c.resolved_at, r.earliest) AS earliest_resolved_at,
    greatest(c.resolved_at, r.latest) AS latest_resolved_at,
    coalesce(r.ever, false) AS seen_resolved, coalesce(r.reopens, 0) AS seen_reopens,
    assignee_of(c.chat_assigned_to, c.assigned_to_user_id) AS assignee_id, is_resolved(c.is_resolved, c.resolved_at) AS resolved_now,
    coalesce(lower(c.state) LIKE 'ended%', false) OR coalesce(trim(c.end_reason) <> '', false) AS has_ended
  FROM base c
  LEFT JOIN resolutions r USING (workspace_id, agent_id, conversation_id)
  LEFT JOIN assignments a USING (workspace_id, agent_id, conversation_id)
)
SELECT
  workspace_id, agent_id, conversation_id, d.agent_title,
  or_unknown(c.channel) AS channel, c.day, c.started_at, local_hour(c.started_at, w.time_zone) AS local_hour, isodow(c.day) AS weekday,
  c.last_message_ts AS last_activity_at, seconds_between(c.started_at, c.last_message_ts) AS duration_seconds,
  c.convo_time_seconds AS reported_duration_seconds, is_counted(c._complete, c.is_test, c.day) AS is_counted, c.test AS is_test, c.complete AS is_complete,
  c._missing_since IS NOT NULL AS is_missing, c._dirty_since IS NOT NULL AS is_stale, c._as_of AS as_of, s.last_observed_at,
  or_unknown(c.state) AS state, or_unknown(c.end_reason) AS end_reason, coalesce(l.code, g.code, 'unknown') AS language,
  coalesce(l.name, g.name, 'unknown') AS language_name, or_unknown(c.country_code) AS country_code,
  -- Excludes ids that two people may share: a number without a country, or a user's id outside of its channel.
  coalesce('identity:' || nullif(trim(c.contact_identity_id), ''), 'email:' || c.contact_email,
    'phone:' || contact_phone(c.user_phone), 'phone:' || CASE WHEN c.channel IN ('voice', 'telephony', 'ext') THEN contact_phone(c.user_id) END,
    'user:' || or_unknown(c.channel) || ':' || nullif(trim(c.user_id), '')) AS contact_id,
  nullif(trim(c.user_name), '') AS contact_name, c.contact_email, nullif(trim(c.user_phone), '') AS contact_phone,
  c.messages_num AS messages, c.sessions_num AS sessions,
  t.conversation_id IS NOT NULL AS has_transcript,
  q.first_seconds AS first_response_seconds, q.human_seconds AS first_human_response_seconds,
  c.assigned_at AS first_assigned_at, seconds_between(c.started_at, c.assigned_at) AS seconds_to_assignment,
  c.human_claimed_at AS claimed_at,
  c.resolved_now AS is_resolved,
  -- Reopening clears `resolved_at`.
  coalesce(c.is_resolved, false) OR c.latest_resolved_at IS NOT NULL OR c.reopened_at IS NOT NULL OR c.seen_resolved AS was_resolved,
  CASE WHEN c.reopened_at IS NULL OR c.earliest_resolved_at <= c.reopened_at THEN c.earliest_resolved_at END AS first_resolved_at,
  seconds_between(c.started_at, first_resolved_at) AS seconds_to_first_resolution,
  c.latest_resolved_at AS last_resolved_at,
  seconds_between(c.started_at, c.latest_resolved_at) AS seconds_to_last_resolution,
  c.reopened_at IS NOT NULL OR c.seen_reopens > 0 AS was_reopened,
  greatest(c.seen_reopens, (c.reopened_at IS NOT NULL)::BIGINT) AS reopens,
  coalesce(h.handoffs, 0) AS handoffs, coalesce(h.accepted, 0) AS handoffs_accepted,
  coalesce(h.waits, 0) AS handoff_waits, h.waited AS handoff_wait_seconds, h.longest AS handoff_longest_wait_seconds,
  coalesce(h.reversed, 0) + coalesce(q.reversed, 0) + is_reversed(c.started_at, c.last_message_ts)::BIGINT
    + is_reversed(c.started_at, c.assigned_at)::BIGINT + is_reversed(c.started_at, first_resolved_at)::BIGINT
    + is_reversed(c.started_at, c.latest_resolved_at)::BIGINT AS reversed_times,
  coalesce(i.people, 0) AS people,
  c.assignee_id, p.name AS assignee_name,
  or_null(c.resolved_by) AS resolved_by, rp.name AS resolved_by_name, or_null(c.requested_team_key) AS requested_team_key,
  -- A transcript may lack the first messages, so tokens prove an answer too.
  coalesce(t.agent_wrote, false) OR coalesce(c.token_usage_cumulative_total_tokens > 0, false) OR coalesce(c.detailed_cost_llm_cost > 0, false)
    OR coalesce(lower(c.state) = 'ai-chatting', false) AS agent_took_part,
  coalesce(t.person_wrote, false) OR coalesce(i.are_handling, false) OR coalesce(h.accepted > 0, false)
    OR c.human_claimed_at IS NOT NULL OR c.human_last_replied_at IS NOT NULL OR coalesce(lower(c.state) = 'human-chatting', false) AS person_took_part,
  CASE WHEN c.resolved_now AND person_took_part THEN 'resolved_by_person' WHEN c.resolved_now AND agent_took_part THEN 'resolved_by_agent'
    WHEN c.resolved_now THEN 'resolved_unattributed' WHEN was_reopened THEN 'reopened'
    WHEN NOT c.has_ended THEN 'open' WHEN coalesce(h.is_waiting, false) THEN 'abandoned' ELSE 'ended_unresolved' END AS outcome,
  c.reopened_at,
  CASE WHEN c.resolved_now THEN coalesce(c.resolved_at, c.latest_resolved_at, c.last_message_ts, c.started_at)
    WHEN c.has_ended THEN coalesce(c.last_message_ts, c.started_at) END AS closed_at,
  rating(c.rating_from5) AS rating_from5, rating(c.csat_satisfaction10) AS csat_score, rating(c.csat_ease10) AS csat_ease, c.csat_submitted_at,
  c.token_usage_cumulative_input_tokens AS input_tokens, c.token_usage_cumulative_output_tokens AS output_tokens,
  c.token_usage_cumulative_total_tokens AS tokens, c.token_usage_cumulative_usd AS tokens_usd,
  c.detailed_cost_total_credits_consumed AS credits, c.detailed_cost_llm_cost AS llm_cost, c.detailed_cost_speech_gen_cost AS speech_cost,
  c.detailed_cost_transcriber_cost AS transcriber_cost, c.ext_cost AS call_cost,
  or_unknown(c.stage) AS lead_stage, c.value AS lead_value, or_currency(c.currency) AS lead_currency, c.lead_score,
  or_unknown(c.hot_label) AS lead_temperature
FROM known c
LEFT JOIN _workspaces w USING (workspace_id)
LEFT JOIN responses q USING (workspace_id, agent_id, conversation_id)
LEFT JOIN observations s USING (workspace_id, agent_id, conversation_id)
LEFT JOIN transcripts t USING (workspace_id, agent_id, conversation_id)
LEFT JOIN handoffs h USING (workspace_id, agent_id, conversation_id)
LEFT JOIN involved i USING (workspace_id, agent_id, conversation_id)
LEFT JOIN marts.dim_agents d USING (workspace_id, agent_id)
LEFT JOIN known_languages l ON l.text = c.language
LEFT JOIN known_languages g ON g.text = c.lang
LEFT JOIN marts.dim_people p ON p.workspace_id = c.workspace_id AND p.user_id = c.assignee_id
LEFT JOIN marts.dim_people rp ON rp.workspace_id = c.workspace_id AND rp.user_id = c.resolved_by
