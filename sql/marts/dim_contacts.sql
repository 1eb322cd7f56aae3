-- dim_contacts: one row for each contact of an agent, across conversations and channels.
-- Grain: workspace_id, agent_id, contact_id
-- Month: first_day
-- Refresh: groups
-- Published by: workspace_id, agent_id, first_day
-- Built from: marts.fct_conversations
-- Use: who writes, how often, and on which channels. Only conversations that count (`is_counted`). The conversations of a contact have the same
-- `contact_id` in fct_conversations. It is the first of these that a conversation has: the vendor's identity of the contact across channels, the email address in
-- lower case, the telephone number in international form (on calls also where it is the user's id), the user's id within the channel. Conversations are joined
-- by equal ids alone: a contact who once gives an address, and once only a number, is two contacts, since joining them could merge two people who share one of
-- both. Contacts belong to an agent, because users' ids are not unique across agents. Conversations without any of these have no contact.
-- Example:
-- SELECT channels, count(*) AS contacts, sum(conversations) AS conversations FROM marts.dim_contacts GROUP BY channels ORDER BY channels;
-- SELECT c.conversation_id, c.channel, d.name, d.conversations
-- FROM marts.fct_conversations c JOIN marts.dim_contacts d USING (workspace_id, agent_id, contact_id) WHERE c.is_counted AND d.conversations > 3;
-- Columns:
--   workspace_id      VARCHAR      none      Workspace
--   agent_id          VARCHAR      none      Agent
--   contact_id        VARCHAR      identity  Contact: what identifies it, behind a word that says what it is
--   agent_title       VARCHAR      none      Title of the agent
--   identified_by     VARCHAR      none      What identifies it: identity, email, phone or user
--   name              VARCHAR      identity  Newest name that a conversation has
--   email             VARCHAR      identity  Newest email address that a conversation has, in lower case
--   phone             VARCHAR      identity  Newest telephone number that a conversation has, as sent
--   country_code      VARCHAR      word      Newest country that a conversation has
--   language          VARCHAR      none      Newest language that a conversation has, as in fct_conversations
--   language_name     VARCHAR      none      Its name in English
--   first_day         DATE         none      Day of the first conversation, in the workspace's time zone
--   last_day          DATE         none      Day of the last conversation
--   first_started_at  TIMESTAMPTZ  none      Start of the first conversation
--   last_activity_at  TIMESTAMPTZ  none      Last message of any conversation
--   channels          BIGINT       none      Channels
--   channel_names     VARCHAR      none      Their names in alphabetical order, separated by commas
--   conversations     BIGINT       none      Conversations
--   messages          BIGINT       none      Messages
--   ever_resolved     BIGINT       none      Conversations that have ever been resolved
--   handed_off        BIGINT       none      Conversations with a handoff
--   csat_score_sum    DOUBLE       none      Sum of the satisfaction scores
--   csat_answers      BIGINT       none      Conversations with a score
--   leads             BIGINT       none      Conversations with a lead: a stage or a value
WITH known AS (
  SELECT *, {seen_at: coalesce(last_activity_at, started_at), started_at: started_at, conversation_id: conversation_id} AS seen
  FROM in_groups('marts.fct_conversations') WHERE is_counted AND contact_id IS NOT NULL
)
SELECT
  workspace_id, agent_id, contact_id, any_value(agent_title) AS agent_title, split_part(contact_id, ':', 1) AS identified_by,
  arg_max(contact_name, seen) AS name, arg_max(contact_email, seen) AS email, arg_max(contact_phone, seen) AS phone,
  coalesce(arg_max(country_code, seen) FILTER (country_code <> 'unknown'), 'unknown') AS country_code,
  coalesce(arg_max(language, seen) FILTER (language <> 'unknown'), 'unknown') AS language,
  coalesce(arg_max(language_name, seen) FILTER (language <> 'unknown'), 'unknown') AS language_name,
  min(day) AS first_day, max(day) AS last_day, min(started_at) AS first_started_at, max(last_activity_at) AS last_activity_at,
  count(DISTINCT channel) AS channels, string_agg(DISTINCT channel, ', ' ORDER BY channel) AS channel_names,
  count(*) AS conversations, coalesce(total(messages), 0) AS messages, count(*) FILTER (was_resolved) AS ever_resolved,
  count(*) FILTER (handoffs > 0) AS handed_off, coalesce(fsum(csat_score), 0) AS csat_score_sum, count(csat_score) AS csat_answers,
  count(*) FILTER (is_lead(lead_stage, lead_value)) AS leads
FROM known GROUP BY workspace_id, agent_id, contact_id
