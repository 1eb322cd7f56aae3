// Readings: every point that the API document leaves open, with the ways in which a vendor may serve it. The first value is
// the default. Each reading is applied in exactly one place.
import { invalidOption } from './rates.ts'

export interface ReadingDefinition {
  /** The first is the default. */
  values: readonly [string, string, ...string[]]
  /** One line for `--help` and the docs: the meaning of each value that is not obvious. */
  help: string
  /** The section of the API document that leaves the point open, or the row about it in the notes on the API. */
  open: string
}

const TABLE = {
  // The export's answer
  paging: {
    values: ['flat', 'nested', 'both'],
    help: 'paging fields beside `data`, in an object `paging`, or in both places',
    open: '4.12 and 2.11: paging fields',
  },
  'has-more': {
    values: ['boolean', 'text', 'absent'],
    help: '`hasMore` as a boolean, as text ("true"), or only by `nextCursor`',
    open: '4.12: hasMore',
  },
  'last-cursor': {
    values: ['null', 'absent', 'empty', 'present'],
    help: '`nextCursor` of the last page: null, absent, "", or a cursor although hasMore is false; without `hasMore`, null or ""',
    open: '4.12: nextCursor',
  },
  'last-page': {
    values: ['exact', 'full'],
    help: 'hasMore is exact, or true after every full page: the last page may be empty',
    open: '4.12: hasMore true and data empty',
  },
  'page-fill': {
    values: ['looked-at', 'returned'],
    help: '`limit` counts scanned conversations, or returned ones',
    open: '4.12: limit, rule 1',
  },
  'empty-pages': {
    values: ['none', 'between'],
    help: 'between: every third page of a window is empty, with hasMore true and a cursor',
    open: '4.12: hasMore true and data empty',
  },
  limit: { values: ['present', 'absent'], help: '`limit` in the answer', open: '4.12: limit' },
  scanned: {
    values: ['looked-at', 'returned', 'absent'],
    help: '`scannedConvoCount` counts scanned conversations, or returned ones, or is absent',
    open: '2.11: scannedConvoCount',
  },
  mode: { values: ['present', 'absent'], help: '`mode` in the answer', open: '2.11: mode' },
  source: { values: ['present', 'absent'], help: '`source` in the answer', open: '2.11: source' },
  echo: {
    values: ['as-sent', 's', 'ms', 'absent'],
    help: '`fromTs` and `toTs` of the echoed `query`: as sent, in seconds, in ms; or no `query`',
    open: '4.12: query',
  },
  numbers: {
    values: ['number', 'text'],
    help: 'numbers of usage, rateLimit and paging as numbers or as text ("42")',
    open: '2.11: numbers',
  },
  // Windows and cursors
  bounds: {
    values: ['ms', 's', 'instant'],
    help: '`ts` is compared with `fromTs` and `toTs` in ms, in whole seconds, or as instants (a bound in seconds is its first millisecond)',
    open: '4.12: does toTs compare in seconds or ms',
  },
  ties: {
    values: ['ascending', 'descending'],
    help: 'conversations with equal `ts` in ascending or descending order',
    open: '4.12: order of equal ts',
  },
  'cursor-life': {
    values: ['forever', '10m', 'once'],
    help: 'a cursor is valid forever, for ten minutes (by the sandbox’s clock), or for one request',
    open: '4.12: a cursor that has expired',
  },
  'unknown-params': {
    values: ['ignored', 'refused'],
    help: 'unknown query parameters, and a repeated `convoIds`, are ignored, or refused with 400',
    open: '4.12: query parameters',
  },
  'unknown-ids': {
    values: ['omitted', '404', '400'],
    help: 'unknown IDs are omitted, or the request fails with that status',
    open: '4.12: unknown ids in convoIds',
  },
  // Other endpoints
  'unknown-fields': {
    values: ['ignored', 'refused'],
    help: 'unknown fields of a request body are ignored, or refused with 400',
    open: '4.1, 4.3, 4.6, 4.8: request bodies',
  },
  'audit-cursor': {
    values: ['inclusive', 'exclusive'],
    help: 'a page of the audit log begins with all entries of the second `cursorTs`, or with the first older one: the rest of a second that a page has cut is then skipped',
    open: '4.5: cursorTs',
  },
  'last-audit-cursor': {
    values: ['null', 'absent', 'present'],
    help: '`nextCursorTs` of the last page: null, absent, or the second of its last entry',
    open: '4.5: nextCursorTs',
  },
  'system-metric': {
    values: ['403', '400'],
    help: 'status of the update of a system metric',
    open: '7.5: attempting to update a system metric',
  },
  'username-taken': {
    values: ['409', '400'],
    help: 'status of an update of the workspace whose marketplace username is taken',
    open: '4.6: marketplaceProfile.username must be unique',
  },
  // Quota and limits
  usage: {
    values: ['present', 'absent', 'nested'],
    help: '`usage` beside `data`, absent, or in an undocumented object `meta`',
    open: '2.11: usage',
  },
  'usage-lag': {
    values: ['0', '1', '2', '5'],
    help: 'usage of the period lags behind by this number of requests',
    open: '2.11: billableUsedThisPeriod',
  },
  'period-key': {
    values: ['period', 'daily', 'absent', 'stale'],
    help: '`periodKey` names the period, or the day although the period continues, or is absent; stale: every third answer names the previous period, fully used',
    open: '2.11: periodKey',
  },
  rebill: {
    values: ['always', 'once'],
    help: 'a session that is exported again is billed again, or only once per period',
    open: '4.12, rule 2: does a re-export bill again',
  },
  'rate-limit': { values: ['present', 'absent'], help: '`rateLimit` in the answer', open: '2.11: rateLimit' },
  hour: {
    values: ['rolling', 'fixed'],
    help: 'the hourly limit counts a rolling hour, or fixed hours',
    open: '8: hourly limit',
  },
  'retry-after': {
    values: ['seconds', 'absent', 'date', 'absurd', 'epoch'],
    help: 'Retry-After of a 429: seconds, none, an HTTP date, 99999999999999, or a unix time',
    open: '8: the response is 429',
  },
  // Errors
  error: {
    values: ['envelope', 'nested', 'text', 'empty'],
    help: 'an error has the documented envelope, has it in an object `error`, is plain text, or has no body',
    open: '7: errors',
  },
  'not-found': {
    values: ['envelope', 'page', 'empty'],
    help: 'a 404 has the documented envelope, is a web page, or has no body',
    open: '7.3: export of an agent that is gone',
  },
  unpaid: {
    values: ['403', '401', '402'],
    help: 'status of an export by a workspace that has never paid',
    open: '7.6: status code of a workspace that has never paid',
  },
  'date-header': { values: ['present', 'absent'], help: 'the `Date` header of an answer', open: '4: endpoints' },
  // Lists of agents and teams
  'agent-params': {
    values: ['read', 'ignored', 'refused'],
    help: 'query parameters of the agent search are read, ignored (every agent is returned), or refused with 400',
    open: '4.16: query parameters of the search',
  },
  'agent-page': {
    values: ['asked', '3'],
    help: 'a page of agents contains as many as requested, or at most 3',
    open: '4.16: query parameters of the search',
  },
  'agent-totals': {
    values: ['both', 'hasMore', 'total', 'neither', 'text'],
    help: 'the agent search returns `total` and `hasMore`, one of them, neither, or both as text',
    open: '4.16: response',
  },
  starred: {
    values: ['every-page', 'first-page', 'own-page', 'apart'],
    help: '`starredAgents` contains all starred agents on every page, all on the first page, those of the page, or all of them, while `agents` contains only the others',
    open: '4.16: agents and starredAgents',
  },
  'team-params': {
    values: ['read', 'ignored', 'refused'],
    help: 'query parameters of the list of teams: as for agents',
    open: '4.14: request paging parameters',
  },
  'team-page': {
    values: ['asked', '1'],
    help: 'a page of teams contains as many as requested, or at most 1',
    open: '4.14: paginated',
  },
  'team-totals': {
    values: ['both', 'hasMore', 'total', 'neither', 'text'],
    help: 'length fields of the list of teams: as for agents',
    open: '4.14: total, hasMore',
  },
  // Conversation records
  undocumented: {
    values: ['present', 'absent'],
    help: 'fields of real records that section 2.10 does not list',
    open: '2.10: fields the document does not list',
  },
  nulls: {
    values: ['both', 'absent', 'null'],
    help: 'a field without a value is null or absent, always absent, or always null',
    open: '2.10: a listed field that is missing, or null',
  },
  'record-numbers': {
    values: ['number', 'text'],
    help: 'counters of a record as numbers or as text',
    open: '2.10: a listed field of another type',
  },
  'record-times': {
    values: ['ms', 's', 'us', 'text'],
    help: 'times of a record in ms, seconds or µs, except `ts` (`--ts-unit`); or all as text, in ms',
    open: '2.10: unit of a timestamp',
  },
  ext: { values: ['ext', 'vapi'], help: 'name of the object of the external voice platform', open: '2.10: ext' },
  'handoff-teams': {
    values: ['parallel', 'reversed', 'shorter'],
    help: '`teamKeys` of a handoff in the order of `teamIds`, in the reverse, or without the first',
    open: '2.10: teamIds and teamKeys are two lists',
  },
  // Webhooks
  'event-field': {
    values: ['event', 'eventType', 'type', 'name', 'absent'],
    help: 'the field that contains the type of an event',
    open: '6.3: the event’s type is in which field',
  },
  turns: {
    values: ['text', 'content', 'message', 'parts', 'messages'],
    help: 'text of a turn in `text`, `content`, `message`, `parts[].text`, or `messages[].item.payload.message`',
    open: '6.3: shape of an element of turns',
  },
} as const satisfies Record<string, ReadingDefinition>

export type ReadingName = keyof typeof TABLE

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

/** What is wrong with a reading; undefined if name and value exist. */
export function readingIssue(name: string, value: unknown): string | undefined {
  if (!Object.hasOwn(TABLE, name))
    return `unknown reading ${JSON.stringify(name)}; the known ones are ${READING_NAMES.join(', ')}`
  const { values } = READINGS[name as ReadingName]
  return values.some(known => known === value) ? undefined : `${name} must be one of ${values.join(', ')}`
}

/**
 * Resolves every reading: the given value, then that of `--literal`, then the default.
 * @throws ConvohouseError CONFIG_INVALID
 */
export function resolveReadings(given: Partial<Readings>, literal: boolean): Readings {
  for (const [name, value] of Object.entries(given)) {
    const issue = readingIssue(name, value)
    if (issue === undefined) continue
    throw invalidOption(
      'readings',
      `cannot be used: ${issue}`,
      'Give values by name; docs/sandbox.md lists the readings.',
    )
  }
  const defaults = Object.fromEntries(READING_NAMES.map(name => [name, READINGS[name].values[0]])) as Readings
  return { ...defaults, ...(literal && LITERAL), ...given }
}
