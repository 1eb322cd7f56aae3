// Queries to begin with.

export const EXAMPLES: readonly { title: string; sql: string }[] = [
  {
    title: 'Conversations and resolutions by week and channel',
    sql: `SELECT date_trunc('week', day)::DATE AS week, channel, sum(conversations)::BIGINT AS conversations, sum(ever_resolved)::BIGINT AS resolved
FROM marts.conversations_daily
GROUP BY ALL
ORDER BY week, channel`,
  },
  {
    title: 'Agents by how often a person has to take over',
    sql: `SELECT agent_title, count(*) AS handoffs, count(accepted_at) AS accepted
FROM marts.fct_handoffs
GROUP BY ALL
ORDER BY handoffs DESC`,
  },
  {
    title: 'What tokens cost by model and day',
    sql: `FROM marts.token_usage_daily
ORDER BY day DESC
LIMIT 200`,
  },
  {
    title: 'Days that were not exported completely',
    sql: `SELECT agent_title, day, is_partly_read, incomplete, quarantined
FROM marts.coverage_daily
WHERE NOT is_covered
ORDER BY day DESC, agent_title`,
  },
]
