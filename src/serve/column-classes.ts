// The classes of personal data of published columns, as catalog, marts and models declare them.
import { FORMS, isPersonal, type PiiClass } from '../catalog/shape.ts'
import { type PiiPolicy, policiesOf } from '../config/target-settings.ts'
import { describedTables } from '../warehouse/dictionary/dictionary.ts'
import { columnParts, ownSqlFiles, readHeader, type SqlFile } from '../warehouse/sql-files.ts'

/** Returns the columns in a model's header. */
const declaredColumns = ({ sql }: SqlFile): { name: string; pii: PiiClass }[] =>
  (readHeader(sql, ['key', 'shared', 'columns']).fields.get('columns') ?? []).map(line => {
    const [name, pii] = columnParts(line)
    return { name: name!, pii: pii as PiiClass }
  })

/** By table, such as `marts.fct_turns`, then by column. A column of a model without a declared class is not in it. */
export type ColumnClasses = ReadonlyMap<string, ReadonlyMap<string, PiiClass>>

/**
 * `models`: the folder of the user's models; null for none. Columns of models that cannot be read have no class. A policy that keeps content
 * also keeps texts where a word belongs, so that words then are content.
 */
export async function columnClasses(models: string | null, policy: PiiPolicy): Promise<ColumnClasses> {
  const areWordsContent = policiesOf(policy).some(({ content }) => content === 'keep')
  const classOf = (pii: PiiClass): PiiClass => (areWordsContent && Object.hasOwn(FORMS, pii) ? 'content' : pii)
  const own = models === null ? [] : await ownSqlFiles(models).catch(() => [])
  const tables = [
    ...(await describedTables()),
    ...own.map(file => ({ name: `models.${file.name}`, columns: declaredColumns(file) })),
  ]
  return new Map(
    tables.map(({ name, columns }) => [name, new Map(columns.map(one => [one.name, classOf(one.pii)] as const))]),
  )
}

/** True for values that leave without the scope `content`. */
export const isPlain = (pii: PiiClass): boolean => !isPersonal(pii)

const formOf = (pii: PiiClass): string | null => FORMS[pii as keyof typeof FORMS] ?? null

/** True if a token without the scope `content` may know whether the column of the published table has this value. */
export async function isSeen(table: string, column: string, value: string): Promise<boolean> {
  const { columns } = (await describedTables()).find(({ name }) => name === table)!
  const { pii } = columns.find(({ name }) => name === column)!
  const form = formOf(pii)
  return isPlain(pii) && (form === null || new RegExp(`^(?:${form})$`).test(value))
}

/** Returns the SQL list of the columns of published table `c` that a token may see, without bookkeeping. */
export async function columnsSeen(table: string, withContent: boolean): Promise<string> {
  const { columns } = (await describedTables()).find(({ name }) => name === table)!
  const shown = columns.filter(({ name, pii }) => (withContent || isPlain(pii)) && !/^(_|payload_)/.test(name))
  return shown
    .map(({ name, pii }) => [`c.${name}`, name, withContent ? null : formOf(pii)] as const)
    .map(([value, name, word]) =>
      word === null ? value : `CASE WHEN regexp_full_match(${value}::VARCHAR, '${word}') THEN ${value} END AS ${name}`,
    )
    .join(', ')
}

/** Returns the columns without personal data, by table. */
export const plainColumns = (classes: ColumnClasses): Record<string, string[]> =>
  Object.fromEntries(
    [...classes].map(([table, columns]) => [table, [...columns.keys()].filter(name => isPlain(columns.get(name)!))]),
  )
