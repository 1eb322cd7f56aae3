-- fct_responses: one row for each wait of a contact: for the first response, for that of a person, for each later one, for a person after a handoff, and for a resolution.
-- Grain: workspace_id, agent_id, conversation_id, metric, position
-- Month: day
-- Refresh: conversations
-- Built from: conversations, conversation_transcripts, marts.dim_agents, marts.dim_people, marts.fct_turns
-- Rows of: conversation_turns, conversation_handoffs, _sla_targets
-- Joins: responder_id = dim_people.user_id
-- Shared: responder_name
-- Use: reply times in calendar and business time, and which service levels (SLA) were met. A wait for a response begins with the first message of the
-- contact that nobody has answered yet, and ends with the next message of the agent or a person; transcripts are known where an event has reported the
-- turns. The agent ends `first_response`; `first_human_response` begins with it and ends with the first message of a person, where one wrote or was
-- requested. Time outside of business hours never counts: a target that is used up at closing lasts until the next opening, so `is_met` says whether the measured
-- wait (`sla_hours` says which) is at most `sla_seconds`. `handoff` is the wait from the request of a person to the acceptance. `resolution`, from the start of the conversation, has rows where a target
-- for it is configured. Whether a wait that has not ended is late depends on the time: compare `deadline_at`, in UTC, with that of your query.
-- Example:
-- SELECT sla_name, metric, count(*) AS waits, count(*) FILTER (is_met) AS met,
--   count(*) FILTER (NOT is_met OR (is_open AND deadline_at < now())) AS breached,
--   count(*) FILTER (NOT is_open AND is_met IS NULL) AS unjudged,
--   quantile_cont(CASE sla_hours WHEN 'business' THEN wait_business_seconds ELSE wait_seconds END, 0.9) AS p90_seconds
-- FROM marts.fct_responses WHERE is_counted AND sla_name IS NOT NULL GROUP BY ALL ORDER BY ALL;
-- Columns:
--   workspace_id           VARCHAR      none   Workspace
--   agent_id               VARCHAR      none   Agent
--   conversation_id        VARCHAR      none   Conversation
--   metric                 VARCHAR      none   What the contact waited for: first_response, first_human_response, next_response, handoff or resolution
--   position               INTEGER      none   Number of the wait in its conversation, from 1 (first response); of the handoff; 1 of a person's first response and of a resolution
--   agent_title            VARCHAR      none   Title of the agent
--   channel                VARCHAR      none   Channel of the conversation; `unknown` if none was reported
--   day                    DATE         none   Day on which the wait began in the workspace's time zone, else of the conversation
--   local_hour             BIGINT       none   Hour of the beginning in the workspace's time zone, 0 to 23
--   weekday                BIGINT       none   Day of the week of `day`, 1 (Monday) to 7 (Sunday)
--   is_counted             BOOLEAN      none   The conversation counts in aggregates
--   started_at             TIMESTAMPTZ  none   When the wait began
--   responded_at           TIMESTAMPTZ  none   When the response, acceptance or resolution came
--   ended_at               TIMESTAMPTZ  none   When the wait ended: then, or without a response when the conversation was resolved
--   is_answered            BOOLEAN      none   There was a response, acceptance or resolution
--   is_open                BOOLEAN      none   There was none, and neither the handoff nor the conversation has ended: the contact still waits
--   responder              VARCHAR      none   Who responded: agent or person; `unknown` if nobody did
--   responder_id           VARCHAR      staff  That person, where known
--   responder_name         VARCHAR      staff  Name of that person
--   wait_seconds           DOUBLE       none   From the start of the wait to the response; NULL if the response is before it or ten years later
--   wait_business_seconds  DOUBLE       none   Part within business hours, NULL before 2010 and after 2059; all of it if none are configured
--   is_reversed            BOOLEAN      none   The response is before the start of the wait, as the vendor reports it
--   organization_id        VARCHAR      none   Organization of the handoff; NULL for other waits
--   sla_name               VARCHAR      none   The service level that applied; NULL for none
--   sla_seconds            BIGINT       none   Its target
--   sla_hours              VARCHAR      none   business or calendar: which time counts for the target; `unknown` without a target
--   deadline_at            TIMESTAMPTZ  none   Until when the wait had to end; the next opening if the target is used up at closing
--   is_met                 BOOLEAN      none   It ended by then; NULL while it is open, without a target, where nobody knows when it ended (`ended_at` is NULL), and of times that give no duration
WITH turns AS (
  SELECT workspace_id, agent_id, conversation_id, position, written_at, sender, sender_id,
    lag(sender) OVER (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY position) AS sender_before
  FROM scoped('marts.fct_turns') WHERE sender <> 'unknown'
),
-- A contact's messages and their answers get the number of their wait.
numbered AS (
  SELECT *, count(*) FILTER (sender = 'contact' AND sender_before IS DISTINCT FROM 'contact')
    OVER (PARTITION BY workspace_id, agent_id, conversation_id ORDER BY position) AS wait
  FROM turns
),
replies AS (
  SELECT workspace_id, agent_id, conversation_id, CASE WHEN wait = 1 THEN 'first_response' ELSE 'next_response' END AS metric, wait::INTEGER AS position,
    arg_min_null(written_at, n.position) FILTER (sender = 'contact') AS started_at,
    arg_min_null({sent_at: written_at, sender: sender, sender_id: sender_id}, n.position) FILTER (sender <> 'contact') AS reply
  FROM numbered n WHERE wait > 0 GROUP BY ALL
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, 'first_human_response', 1,
    arg_min_null(written_at, n.position) FILTER (sender = 'contact'),
    arg_min_null({sent_at: written_at, sender: sender, sender_id: sender_id}, n.position) FILTER (sender = 'person')
  FROM numbered n WHERE wait > 0 GROUP BY workspace_id, agent_id, conversation_id
  HAVING bool_or(sender = 'person') OR (workspace_id, agent_id, conversation_id) IN (SELECT (workspace_id, agent_id, conversation_id) FROM scoped('conversation_handoffs'))
),
waits AS (
  SELECT r.workspace_id, r.agent_id, r.conversation_id, r.metric, r.position, NULL AS organization_id, r.started_at, r.reply.sent_at AS responded_at, r.reply IS NOT NULL AS is_answered, false AS is_given_up, r.reply.sender AS responder,
    r.reply.sender_id AS responder_id
  FROM replies r
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, 'handoff', position, or_null(organization_id), requested_at, accepted_at, accepted_at IS NOT NULL,
    accepted_at IS NULL AND completed_at IS NOT NULL, CASE WHEN accepted_at IS NOT NULL THEN 'person' END, or_null(accepted_by)
  FROM scoped('conversation_handoffs')
  UNION ALL
  SELECT workspace_id, agent_id, conversation_id, 'resolution', 1, NULL, coalesce(first_message_ts, ts), CASE WHEN is_resolved IS DISTINCT FROM false THEN resolved_at END,
    is_resolved(is_resolved, resolved_at), false, NULL, or_null(resolved_by)
  FROM scoped('conversations') SEMI JOIN (SELECT workspace_id FROM _sla_targets WHERE metric = 'resolution') USING (workspace_id)
),
known AS (
  SELECT w.*, or_unknown(c.channel) AS channel, c.day AS conversation_day,
    is_counted(c._complete, c.is_test, c.day) AS is_counted,
    NOT w.is_answered AND NOT w.is_given_up AND NOT is_resolved(c.is_resolved, c.resolved_at) AND NOT coalesce(starts_with(lower(c.state), 'ended'), false) AS is_open,
    coalesce(w.responded_at, CASE WHEN NOT w.is_answered AND c.is_resolved IS DISTINCT FROM false AND c.resolved_at >= w.started_at THEN c.resolved_at END) AS ended_at
  FROM waits w JOIN scoped('conversations') c USING (workspace_id, agent_id, conversation_id)
),
-- Selects the first rule that matches and has a target.
chosen AS (
  SELECT k.workspace_id, k.agent_id, k.conversation_id, k.metric, k.position,
    arg_min({name: t.name, seconds: t.target_seconds, is_business: t.is_business}, t.rule) AS sla
  FROM known k JOIN _sla_targets t ON t.workspace_id = k.workspace_id AND t.metric = k.metric
  WHERE coalesce(list_contains(t.agents, k.agent_id), true) AND coalesce(list_contains(t.channels, k.channel), true)
  GROUP BY ALL
),
-- Business time since the first opening, in microseconds.
timed AS (
  SELECT k.*, sla, coalesce(r.has_hours, false) AS has_hours, r.workspace_id IS NOT NULL AND coalesce(sla.is_business, false) AND has_hours AS is_business,
    b.seconds_before * 1000000 + epoch_us(least(k.started_at, b.closes_at)) - epoch_us(b.opens_at) AS business_start
  FROM known k
  LEFT JOIN chosen USING (workspace_id, agent_id, conversation_id, metric, position)
  LEFT JOIN _response_rules r ON r.workspace_id = k.workspace_id
  ASOF LEFT JOIN _business_hours b ON b.workspace_id = k.workspace_id AND b.opens_at <= k.started_at
),
measured AS (
  SELECT t.*, CASE WHEN t.responded_at < TIMESTAMPTZ '2060-01-01T00:00:00Z' THEN
      b.seconds_before * 1000000 + epoch_us(least(t.responded_at, b.closes_at)) - epoch_us(b.opens_at) - t.business_start END AS business_wait,
    CASE WHEN t.is_business THEN t.business_start + sla.seconds * 1000000 END AS due
  FROM timed t ASOF LEFT JOIN _business_hours b ON b.workspace_id = t.workspace_id AND b.opens_at <= t.responded_at
),
limited AS (
  SELECT m.*, CASE WHEN NOT m.is_business THEN make_timestamptz(epoch_us(m.started_at) + sla.seconds * 1000000)
      -- Unknown if it lies after the last stored business hours.
      WHEN epoch_us(d.opens_at) + m.due - d.seconds_before * 1000000 <= epoch_us(d.closes_at)
        THEN make_timestamptz(epoch_us(d.opens_at) + m.due - d.seconds_before * 1000000)
    END AS deadline_at
  FROM measured m ASOF LEFT JOIN _business_hours d ON d.workspace_id = m.workspace_id AND d.seconds_before * 1000000 <= m.due
)
SELECT
  l.workspace_id, l.agent_id, l.conversation_id, l.metric, l.position, a.agent_title, l.channel,
  coalesce(local_day(l.started_at, w.time_zone), l.conversation_day) AS day, local_hour(l.started_at, w.time_zone) AS local_hour,
  isodow(coalesce(local_day(l.started_at, w.time_zone), l.conversation_day)) AS weekday, l.is_counted,
  l.started_at, l.responded_at, l.ended_at, l.is_answered, l.is_open, or_unknown(l.responder) AS responder, l.responder_id, p.name AS responder_name,
  seconds_between(l.started_at, l.responded_at) AS wait_seconds,
  CASE WHEN NOT l.has_hours THEN wait_seconds WHEN wait_seconds IS NULL THEN NULL WHEN l.business_wait < 0 THEN 0 ELSE l.business_wait / 1e6 END AS wait_business_seconds,
  is_reversed(l.started_at, l.responded_at) AS is_reversed, l.organization_id,
  sla.name AS sla_name, sla.seconds AS sla_seconds, CASE WHEN sla IS NULL THEN 'unknown' WHEN l.is_business THEN 'business' ELSE 'calendar' END AS sla_hours,
  l.deadline_at, CASE WHEN l.responded_at IS NULL OR wait_seconds IS NOT NULL THEN l.ended_at <= l.deadline_at END AS is_met
FROM limited l
LEFT JOIN _workspaces w ON w.workspace_id = l.workspace_id
LEFT JOIN marts.dim_agents a ON a.workspace_id = l.workspace_id AND a.agent_id = l.agent_id
LEFT JOIN marts.dim_people p ON p.workspace_id = l.workspace_id AND p.user_id = l.responder_id
WHERE l.metric <> 'resolution' OR sla IS NOT NULL
