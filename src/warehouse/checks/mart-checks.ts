// The check of each mart: its key columns identify a row. It runs over all rows only: a mart's rows are not looked up by the keys in the log.
import { marts } from '../marts/declarations.ts'
import type { Check } from './declaration.ts'

export const martChecks = (): Check[] =>
  marts().map(({ name, grain, columns }) => {
    const isPersonal = (key: string): boolean => columns.find(column => column.name === key)!.pii !== 'none'
    return {
      name: `${name}_unique`,
      about: `No two rows of marts.${name} have the same key.`,
      severity: 'error',
      blocks: true,
      table: `marts.${name}`,
      // Values of these columns are stored as examples.
      key: grain.filter(key => !isPersonal(key)),
      sql: `SELECT ${grain.join(', ')}, count(*) AS rows FROM marts.${name} GROUP BY ALL HAVING count(*) > 1`,
      rowsOf: [`marts.${name}`],
      isOwn: false,
    }
  })
