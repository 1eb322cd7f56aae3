// Builds a large warehouse quickly: the real code loads about ten thousand conversations, and SQL copies them inside
// DuckDB, with new ids, child rows, observations and numbers.
import { createHash } from 'node:crypto'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { tablesOf } from '../../src/catalog/ddl.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import type { Writer } from '../../src/warehouse/connection.ts'
import { lastNumber } from '../../src/warehouse/load/merge.ts'

/** Returns the id of a conversation's copy: a UUID in the sandbox's form. The SQL below computes the same. */
export function copyId(id: string, copy: number): string {
  const hex = createHash('md5').update(`${id}:${copy}`).digest('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const COPY_ID = `md5(conversation_id || ':' || copy)::UUID::VARCHAR`

/** Copies per statement: enough to fill row groups, few enough to fit into memory. */
const AT_ONCE = 5

const OBSERVATION_TIMES = ['observed_at', 'version', 'last_message_ts'].map(name => ({ name, sqlType: 'TIMESTAMPTZ' }))

interface Copies {
  source: number
  from: number
  to: number
  /** Number of months over which the copies are spread: the times of copy n are earlier by 3n months, modulo this number. */
  months?: number
}

/** Returns the number of months by which a copy is earlier, if copies are spread over `months`. */
export const monthsBack = (copy: number, months: number): number => (3 * copy) % months

/** Returns the SQL of a table's times in a copy, for REPLACE. Bookkeeping columns stay as they are. */
function shiftedTimes(columns: readonly { name: string; sqlType: string }[], months: number | undefined): string {
  if (months === undefined) return ''
  return columns
    .filter(({ name, sqlType }) => !name.startsWith('_') && ['TIMESTAMPTZ', 'DATE'].includes(sqlType))
    .map(({ name, sqlType }) => `(${name} - to_months(((3 * copy) % ${months})::INTEGER))::${sqlType} AS ${name}, `)
    .join('')
}

/**
 * Adds the copies `from` to `to` of the first `source` conversations. Their `_record` numbers select them, so they must
 * not have been replaced since the first load. Copies get numbers above all existing ones.
 */
export async function multiply(writer: Writer, options: Copies): Promise<void> {
  const { source, from, to, months } = options
  const layout = layoutOf(conversation)
  for (let copy = from; copy <= to; copy += AT_ONCE) {
    const last = await lastNumber(writer, layout)
    const copies = `range(${copy}, ${Math.min(copy + AT_ONCE, to + 1)}) c(copy)`
    const number = `${last} + (copy - ${copy}) * ${source} + _record`
    for (const { name, columns } of tablesOf(layout))
      await writer.run(`INSERT INTO ${name} BY NAME
        SELECT t.* REPLACE (${shiftedTimes(columns, months)}${COPY_ID} AS conversation_id, ${number} AS _record)
        FROM ${copies}, ${name} t WHERE _record <= ${source}`)
    await writer.run(`INSERT INTO conversation_observations BY NAME SELECT t.* REPLACE (${shiftedTimes(OBSERVATION_TIMES, months)}${COPY_ID} AS conversation_id)
      FROM ${copies}, (SELECT o.* FROM conversation_observations o SEMI JOIN
        (SELECT agent_id, conversation_id FROM conversations WHERE _record <= ${source}) USING (agent_id, conversation_id)) t`)
    if (copy % 20 < AT_ONCE)
      console.error(`${(Math.min(copy + AT_ONCE, to + 1) * source).toLocaleString('en')} conversations`)
  }
}
