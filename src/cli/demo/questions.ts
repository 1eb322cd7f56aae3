// The questions that the demo asks the warehouse, with their SQL.

export interface DemoQuery {
  title: string
  sql: string
}

export const DEMO_QUERIES: readonly DemoQuery[] = [
  {
    title: 'Volume: how many conversations has each agent had, and on which channels?',
    sql: `SELECT a.title AS agent, c.channel, count(*) AS conversations, sum(c.messages_num)::BIGINT AS messages
FROM conversations c JOIN agents a USING (workspace_id, agent_id)
GROUP BY ALL ORDER BY conversations DESC LIMIT 8`,
  },
  {
    title: 'Resolution: how many are resolved, and how many needed a person?',
    sql: `SELECT a.title AS agent, round(100 * avg(coalesce(c.is_resolved, false)::INT), 1) AS resolved_percent,
  round(100 * count(h.n) / count(*), 1) AS handoff_percent, round(median(h.wait_seconds)) AS median_wait_seconds
FROM conversations c JOIN agents a USING (workspace_id, agent_id)
LEFT JOIN (SELECT workspace_id, agent_id, conversation_id, count(*) AS n,
    min(date_diff('second', requested_at, accepted_at)) AS wait_seconds
  FROM conversation_handoffs GROUP BY ALL) h USING (workspace_id, agent_id, conversation_id)
GROUP BY ALL ORDER BY agent`,
  },
  {
    title: 'Satisfaction: how do customers rate it, month by month?',
    sql: `SELECT strftime(csat_submitted_at, '%Y-%m') AS month, count(*) AS answers,
  round(avg(csat_satisfaction10), 2) AS satisfaction, round(avg(csat_ease10), 2) AS ease
FROM conversations WHERE csat_submitted_at IS NOT NULL GROUP BY ALL ORDER BY month`,
  },
  {
    title: 'Cost: how many tokens does each model use, and what do they cost?',
    sql: `SELECT model_id AS model, count(*) AS conversations, sum(total_tokens)::BIGINT AS tokens, round(sum(usd), 2) AS usd
FROM token_usage_by_model GROUP BY ALL ORDER BY usd DESC`,
  },
]

/** A conversation that changed after its export. */
export interface Conversation {
  id: string
}

export const eventQueries = ({ id }: Conversation): DemoQuery[] => [
  {
    title: 'A conversation as exported, and as updated by its events since:',
    sql: `SELECT observed_at, source, state, chat_assigned_to AS assignee, token_usage_cumulative_total_tokens AS tokens
FROM conversation_observations WHERE conversation_id = '${id}' ORDER BY version, observed_at LIMIT 6`,
  },
  {
    title: 'Its last turns, which no export contains:',
    sql: `SELECT position, role, left(text, 60) AS said FROM conversation_turns
WHERE conversation_id = '${id}' ORDER BY position DESC LIMIT 3`,
  },
  {
    title: 'How long after receipt was an event in the tables?',
    sql: `SELECT type, count(*) AS events, round(quantile_cont(epoch_ms(_loaded_at) - epoch_ms(received_at), 0.95) / 1000, 1) AS seconds_p95
FROM webhook_events GROUP BY ALL ORDER BY events DESC`,
  },
]
