// The questions that the demo asks the warehouse, with their SQL.

export interface DemoQuery {
  title: string
  sql: string
}

/** Figures of the marts, which leave test conversations out. */
export const DEMO_QUERIES: readonly DemoQuery[] = [
  {
    title: 'Volume: how many conversations has each agent had, and on which channels?',
    sql: `SELECT agent_title AS agent, channel, sum(conversations)::BIGINT AS conversations, sum(messages)::BIGINT AS messages
FROM marts.conversations_daily GROUP BY ALL ORDER BY conversations DESC LIMIT 8`,
  },
  {
    title: 'Resolution: how many are resolved, and how many needed a person?',
    sql: `SELECT agent_title AS agent, round(100 * avg(is_resolved::INT), 1) AS resolved_percent,
  round(100 * avg((handoffs > 0)::INT), 1) AS handoff_percent, round(median(handoff_longest_wait_seconds)) AS median_wait_seconds
FROM marts.fct_conversations WHERE is_counted GROUP BY ALL ORDER BY agent`,
  },
  {
    title: 'Satisfaction: how do customers rate it, month by month?',
    sql: `SELECT strftime(day, '%Y-%m') AS month, count(*) AS answers, round(avg(csat_score), 2) AS satisfaction, round(avg(csat_ease), 2) AS ease
FROM marts.fct_csat WHERE is_counted GROUP BY ALL ORDER BY month`,
  },
  {
    title: 'Cost: how many tokens does each model use, and what do they cost?',
    sql: `SELECT model_id AS model, sum(tokens)::BIGINT AS tokens, round(sum(tokens_usd), 2) AS usd
FROM marts.token_usage_daily GROUP BY ALL ORDER BY usd DESC`,
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
