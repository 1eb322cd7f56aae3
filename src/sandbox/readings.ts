// Readings: the points that the API document leaves open and on which the client depends, with the ways in which a vendor may serve
// each. The first value is the default.

export interface ReadingDefinition {
  /** The first is the default. */
  values: readonly [string, string, ...string[]]
  /** One line for `--help` and the docs: the meaning of each value that is not obvious. */
  help: string
}

const TABLE = {
  // The export's answer
  'last-cursor': {
    values: ['null', 'absent'],
    help: '`nextCursor` of the last page is null, or absent',
  },
  'unknown-params': {
    values: ['ignored', 'refused'],
    help: 'unknown query parameters, and a repeated `convoIds`, are ignored, or refused with 400',
  },
  // Other endpoints
  'unknown-fields': {
    values: ['ignored', 'refused'],
    help: 'unknown fields of a request body are ignored, or refused with 400',
  },
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
  'retry-after': {
    values: ['seconds', 'absent'],
    help: 'Retry-After of a 429 by the rate limit: seconds, or none',
  },
  // Lists of agents and teams
  'agent-params': {
    values: ['read', 'ignored', 'refused'],
    help: 'query parameters of the agent search are read, ignored (every agent is returned), or refused with 400',
  },
  'agent-page': {
    values: ['asked', '3'],
    help: 'a page of agents contains as many as requested, or at most 3',
  },
  'agent-totals': {
    values: ['both', 'hasMore', 'total', 'neither'],
    help: 'the agent search returns `total` and `hasMore`, one of them, or neither',
  },
  starred: {
    values: ['every-page', 'first-page', 'own-page', 'apart'],
    help: '`starredAgents` contains all starred agents on every page, all on the first page, those of the page, or all of them, while `agents` contains only the others',
  },
  'team-params': {
    values: ['read', 'ignored', 'refused'],
    help: 'query parameters of the list of teams: as for agents',
  },
  'team-page': {
    values: ['asked', '1'],
    help: 'a page of teams contains as many as requested, or at most 1',
  },
  // Conversation records
  undocumented: {
    values: ['present', 'absent'],
    help: 'fields of real records that section 2.10 does not list',
  },
  ext: { values: ['ext', 'vapi'], help: 'name of the object of the external voice platform' },
  // Webhooks
  'event-field': {
    values: ['event', 'eventType', 'type', 'name', 'absent'],
    help: 'the field that contains the type of an event',
  },
  turns: {
    values: ['text', 'content', 'message', 'parts', 'messages'],
    help: 'text of a turn in `text`, `content`, `message`, `parts[].text`, or `messages[].item.payload.message`',
  },
} as const satisfies Record<string, ReadingDefinition>

type ReadingName = keyof typeof TABLE

export type Readings = { [Name in ReadingName]: (typeof TABLE)[Name]['values'][number] }

export const READINGS: Record<ReadingName, ReadingDefinition> = TABLE

export const READING_NAMES = Object.keys(TABLE) as ReadingName[]

/** `--literal`: only what the document shows. */
export const LITERAL: Partial<Readings> = {
  'last-cursor': 'absent',
  'unknown-params': 'refused',
  'unknown-fields': 'refused',
  'last-audit-cursor': 'absent',
  'retry-after': 'absent',
  'agent-params': 'refused',
  'agent-totals': 'neither',
  'team-params': 'refused',
  undocumented: 'absent',
  'event-field': 'absent',
}

/** Says what is wrong with a reading; undefined if name and value exist. */
export function readingIssue(name: string, value: unknown): string | undefined {
  if (!Object.hasOwn(TABLE, name))
    return `unknown reading ${JSON.stringify(name)}; the known ones are ${READING_NAMES.join(', ')}`
  const { values } = READINGS[name as ReadingName]
  return values.some(known => known === value) ? undefined : `${name} must be one of ${values.join(', ')}`
}

/** Resolves every reading: the given value, then that of `--literal`, then the default. */
export function resolveReadings(given: Partial<Readings>, literal: boolean): Readings {
  const defaults = Object.fromEntries(READING_NAMES.map(name => [name, READINGS[name].values[0]])) as Readings
  return { ...defaults, ...(literal && LITERAL), ...given }
}
