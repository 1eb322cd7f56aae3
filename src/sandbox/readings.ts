// Readings: points that the API document leaves open and on which the client depends, with the ways in which a vendor
// may serve each. The first value is the default.

export interface ReadingDefinition {
  /** Possible values; the first is the default. */
  values: readonly [string, string, ...string[]]
  /** One line for `--help` and the docs: the meaning of each value that is not obvious. */
  help: string
}

const TABLE = {
  'audit-cursor': {
    values: ['inclusive', 'exclusive'],
    help: 'a page of the audit log begins with all entries of the second `cursorTs`, or with the first older one: the rest of a second that a page has cut is then skipped',
  },
  'last-audit-cursor': {
    values: ['null', 'absent', 'present'],
    help: '`nextCursorTs` of the last page: null, absent, or the second of its last entry',
  },
  usage: {
    values: ['present', 'absent', 'nested'],
    help: '`usage` beside `data`, absent, or in an undocumented object `meta`',
  },
  // Lists of agents and teams
  'agent-page': {
    values: ['asked', '3'],
    help: 'a page of agents contains as many as requested, or at most 3',
  },
  'team-page': {
    values: ['asked', '1'],
    help: 'a page of teams contains as many as requested, or at most 1',
  },
} as const satisfies Record<string, ReadingDefinition>

type ReadingName = keyof typeof TABLE

export type Readings = { [Name in ReadingName]: (typeof TABLE)[Name]['values'][number] }

export const READINGS: Record<ReadingName, ReadingDefinition> = TABLE

export const READING_NAMES = Object.keys(TABLE) as ReadingName[]

/** Returns what is wrong with a reading; undefined if name and value exist. */
export function readingIssue(name: string, value: unknown): string | undefined {
  if (!Object.hasOwn(TABLE, name))
    return `unknown reading ${JSON.stringify(name)}; the known ones are ${READING_NAMES.join(', ')}`
  const { values } = READINGS[name as ReadingName]
  return values.some(known => known === value) ? undefined : `${name} must be one of ${values.join(', ')}`
}

/** Resolves every reading: the given value, or the default. */
export function resolveReadings(given: Partial<Readings>): Readings {
  const defaults = Object.fromEntries(READING_NAMES.map(name => [name, READINGS[name].values[0]])) as Readings
  return { ...defaults, ...given }
}
