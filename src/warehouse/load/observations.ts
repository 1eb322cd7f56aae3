// Each time that a conversation is seen is kept, whether or not that version wins: changes and spend by day derive from
// these rows, and so do not depend on the order of arrival.
import { keyItems } from '../../catalog/extraction.ts'
import { type Layout, quoteName, quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import { STAGE } from './stage.ts'

/** Columns of the conversation that an observation keeps. */
export const OBSERVED = [
  'state',
  'stage',
  'chat_assigned_to',
  'is_resolved',
  'resolved_at',
  'token_usage_cumulative_input_tokens',
  'token_usage_cumulative_output_tokens',
  'token_usage_cumulative_total_tokens',
  'token_usage_cumulative_usd',
  'detailed_cost_total_credits_consumed',
] as const

/** Appends an observation for each staged record; called before any of them is dropped. */
export async function observe(writer: Writer, options: { layout: Layout; workspaceId: string }): Promise<void> {
  const { layout, workspaceId } = options
  const columns = OBSERVED.map(name => layout.columns.find(column => column.name === name)!)
  await writer.run(`INSERT INTO conversation_observations
      (${[...layout.key, 'observed_at', 'source', 'kind', 'modified', 'version', ...OBSERVED].map(quoteName).join(', ')})
    SELECT ${keyItems(layout, workspaceId).join(', ')}, s."__fetched", ${quoteText('export')}, s."__kind",
      changed_at(s."lastModified", s."__fetched"), coalesce(changed_at(s."lastModified", s."__fetched"), s."__as_of"), ${columns.map(column => column.expression).join(', ')}
    FROM ${STAGE} s`)
}
