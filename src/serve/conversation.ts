// One conversation with everything that is known of it.
import { quoteText } from '../catalog/layout.ts'
import { ConvohouseError } from '../core/errors.ts'
import { columnsSeen } from './column-classes.ts'
import type { DeclaredQuery } from './readers/snapshot-readers.ts'

export const MART = 'marts.fct_conversations'
export const KEY = ['workspace_id', 'agent_id', 'conversation_id'] as const

/** A NUL would end the SQL. */
export const textOf = (text: string): string =>
  text.includes('\0') ? `decode(unhex('${Buffer.from(text).toString('hex')}'))` : quoteText(text)

type Row = Record<string, unknown>

const NO_SCOPE = 'The token has no scope `content`.'
/** An event may also have reported messages without texts. */
const NO_TEXTS =
  'The snapshot has no texts of transcripts: none was reported, or its policy drops them (`pii: { content: drop }`, the default).'

function whyNoTranscript(turns: readonly Row[], withContent: boolean): string | null {
  if (!withContent) return NO_SCOPE
  if (turns.length === 0) return 'No event has reported its messages: the export of the API has none.'
  return turns.some(turn => turn.text !== null) ? null : NO_TEXTS
}

/** Returns why no transcript can be searched; null if some can. */
export async function whyNoTexts(query: DeclaredQuery, withContent: boolean): Promise<string | null> {
  if (!withContent) return NO_SCOPE
  const { rows } = await query(`SELECT 1 FROM marts.fct_turns WHERE text <> '' LIMIT 1`)
  return rows.length > 0 ? null : NO_TEXTS
}

/** Returns everything about one conversation. @throws CONVERSATION_UNKNOWN */
export async function conversationOf(
  query: DeclaredQuery,
  { workspace, agent, id }: { workspace: string; agent: string; id: string },
  withContent: boolean,
) {
  const where = KEY.map((name, at) => `c.${name} = ${textOf([workspace, agent, id][at]!)}`)
  const read = async (table: string, order: string) => {
    const columns = await columnsSeen(table, withContent)
    return (await query<Row>(`SELECT ${columns} FROM ${table} c WHERE ${where.join(' AND ')} ORDER BY ${order}`)).rows
  }
  const [[conversation], turns, states, handoffs, events, spend] = await Promise.all([
    read(MART, '1'),
    read('marts.fct_turns', 'c.position'),
    read('marts.fct_state_spans', 'c.position'),
    read('marts.fct_handoffs', 'c.position'),
    read('webhook_events', 'c.created_at, c.event_id'),
    read('marts.fct_spend', 'c.day'),
  ])
  if (!conversation)
    throw new ConvohouseError('CONVERSATION_UNKNOWN', {
      what: 'The snapshot has no conversation with that workspace, agent and id.',
      hint: 'If it is new, it is there after the next publication.',
    })
  const why = whyNoTranscript(turns, withContent)
  const transcript = why === null ? turns : null
  return { conversation, transcript, whyNoTranscript: why, states, handoffs, events, spend }
}
