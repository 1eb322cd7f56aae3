// Personal data that is easy to find: a text of its own in every column that may contain any.
import { publishedRelations } from '../../src/publish/relations.ts'
import type { Writer } from '../../src/warehouse/connection.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'

export const CANARY = 'kanarienvogel'

/** `table.column` of every published column of personal data. */
export const personalColumns = async (): Promise<string[]> =>
  (await publishedRelations()).flatMap(({ name, columns }) =>
    columns.filter(({ pii }) => pii !== 'none').map(column => `${name}.${column.name}`),
  )

/** A row in every table, with a canary of its own in each column of personal data. */
export async function plantCanaries(writer: Writer): Promise<void> {
  // Rows of marts are computed from the log, which does not have planted rows.
  await refreshMarts(writer)
  for (const { name, columns, key } of await publishedRelations()) {
    const filled = columns.filter(column => column.pii !== 'none' || key.includes(column.name))
    const values = filled.map(({ name: column, sqlType, pii }) => {
      if (sqlType === 'INTEGER') return '1'
      if (sqlType === 'DATE') return `DATE '2026-01-01'`
      if (sqlType === 'TIMESTAMP') return `TIMESTAMP '2026-01-01'`
      const text = pii === 'none' ? 'key' : `${CANARY} ${name}.${column}`
      return sqlType === 'JSON' ? `'["${text}"]'` : `'${text}'`
    })
    const rest = columns
      .filter(column => ['source', 'version'].includes(column.name) && name === 'conversation_observations')
      .map(column => [column.name, column.name === 'source' ? `'export'` : `TIMESTAMP '2026-01-01'`] as const)
    const names = [...filled.map(column => column.name), ...rest.map(([column]) => column)]
    await writer.run(
      `INSERT INTO ${name} (${names.join(', ')}) VALUES (${[...values, ...rest.map(([, value]) => value)].join(', ')})`,
    )
  }
}
