-- Returns the people that conversations name: each person's newest name and newest address, and the conversation with
-- it. Covers all people, or those in the variable `people`.
WITH named AS (
  SELECT workspace_id, assigned_to_user_id AS user_id, assigned_to_name AS name, assigned_to_email AS email, _version AS seen_at, _record
  FROM scoped('conversations')
  UNION ALL
  SELECT u.workspace_id, u.user_id, u.name, u.email, c._version, c._record
  FROM scoped('conversation_assigned_users') u JOIN scoped('conversations') c USING (_record)
  UNION ALL
  SELECT workspace_id, resolved_by, NULL, resolved_by_email, _version, _record FROM scoped('conversations')
  UNION ALL
  SELECT workspace_id, chat_assigned_to, NULL, NULL, TIMESTAMPTZ 'epoch', _record FROM scoped('conversations')
  UNION ALL
  SELECT workspace_id, user_id, NULL, NULL, TIMESTAMPTZ 'epoch', _record FROM scoped('conversation_assigned_ids')
  UNION ALL
  SELECT workspace_id, accepted_by, NULL, NULL, TIMESTAMPTZ 'epoch', _record FROM scoped('conversation_handoffs')
),
-- Few texts occur in many conversations, and comparing all of them took twice as long.
newest AS (
  SELECT workspace_id, user_id, name, email, max(seen_at) AS seen_at, arg_max(_record, seen_at) AS _record
  FROM named WHERE trim(user_id) <> '' AND coalesce(list_contains(getvariable('people'), user_id), true) GROUP BY ALL
),
kinds AS (
  SELECT workspace_id, user_id, unnest(['name', 'email']) AS kind, unnest([name, email]) AS text, seen_at, _record FROM newest
),
best AS (
  -- The text decides between conversations of the same time.
  SELECT workspace_id, user_id, kind, max({known: text IS NOT NULL, seen_at: seen_at, text: text, record: _record}) AS one FROM kinds GROUP BY ALL
)
SELECT c.workspace_id, f.user_id, f.kind, f.one.text AS text, f.one.seen_at AS seen_at, c.agent_id, c.conversation_id
FROM best f JOIN scoped('conversations') c ON c._record = f.one.record
