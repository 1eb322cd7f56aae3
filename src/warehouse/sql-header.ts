// The comment at the beginning of our SQL files and of the user's: a description, of which the first paragraph counts, then fields. A line
// that names no field continues the one before it.
//
//   -- What a row is, or what must hold.
//   -- key: workspace_id, agent_id
//   -- columns:
//   --   name  none  Description          (separated by at least two spaces)

export interface SqlHeader {
  about: string
  /** The lines of each field, without empty ones. */
  fields: ReadonlyMap<string, readonly string[]>
  /** The SQL after the header. */
  select: string
}

/** Reads a header that may have these fields. */
export function readHeader(sql: string, names: readonly string[]): SqlHeader {
  const lines = sql.trimStart().split(/\r?\n/)
  const end = lines.findIndex(line => !line.startsWith('--'))
  const about: string[] = []
  const fields = new Map<string, string[]>()
  let current = about
  for (const line of end < 0 ? lines : lines.slice(0, end)) {
    const text = line.replace(/^-- ?/, '').trimEnd()
    const name = names.find(one => text.startsWith(`${one}:`))
    if (name !== undefined) {
      current = []
      fields.set(name, current)
    }
    const rest = name === undefined ? text : text.slice(name.length + 1).trim()
    if (rest === '' && current === about) current = []
    if (rest !== '') current.push(rest)
  }
  return { about: about.join(' ').trim(), fields, select: end < 0 ? '' : lines.slice(end).join('\n') }
}

/** The parts of a line of columns. */
export const columnParts = (line: string): string[] => line.trim().split(/\s{2,}/)

/** The names in a field that lists them; none where the header lacks the field. */
export const listIn = ({ fields }: SqlHeader, name: string): string[] =>
  (fields.get(name)?.join(' ') ?? '')
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
