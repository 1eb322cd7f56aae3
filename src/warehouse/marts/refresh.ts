// Brings the marts up to the end of the change log, in one transaction, which also logs the rows that it changes: a publication reads them
// like tables.
//
//   changed keys since `_marts` ─▶ people, dimensions ─▶ facts of the conversations that changed or whose names did
//                               ─▶ groups of daily marts that these facts touched, old and new ─▶ the rest ─▶ `_marts`
//
// Without a usable position in the log (a new epoch, other SQL, a trimmed log) everything is computed again, in a new epoch.
import { createHash } from 'node:crypto'
import { acknowledgeWithin } from '../changes/consumers.ts'
import { beginEpoch, logRange, type Watermark } from '../changes/epoch.ts'
import { forgetLogging } from '../changes/log-changes.ts'
import { PUBLISHED_TABLES } from '../changes/published-tables.ts'
import { type Changes, changedKeys, changesSince } from '../changes/read-changes.ts'
import type { Writer } from '../connection.ts'
import { MACROS } from '../macros.ts'
import { sqlFile } from '../sql-files.ts'
import { type Mart, marts } from './declarations.ts'
import { DAYS, eachDaySlice, eachGroupSlice, isOfDays, touchedGroupSlices, touchedGroups } from './groups.ts'
import {
  addScope,
  beginEntries,
  emptyMart,
  fillMart,
  logEntries,
  replaceDifferent,
  replaceGroups,
  replaceScope,
} from './mart-tables.ts'
import { beginPeople, fillPeople, findPeople, followPeople, PEOPLE } from './people.ts'
import { CONVERSATION_KEY, created, defineMacros, PEOPLE_SELECT, type Scope, scopeConversations } from './scope.ts'

/** The marts' own name among the consumers of the change log. */
const MARTS_CONSUMER = 'marts'

/** Tables whose changes concern one conversation. */
const OF_CONVERSATIONS = ['conversations', 'conversation_observations', 'conversation_transcripts']

/** The hash of everything that the rows depend on besides the tables. */
const definition = (): string =>
  createHash('sha256')
    .update(JSON.stringify([marts(), sqlFile(PEOPLE_SELECT), MACROS]))
    .digest('hex')
    .slice(0, 16)

async function positionOf(writer: Writer): Promise<(Watermark & { definition: string }) | undefined> {
  const [row] = await writer.rows<{ epoch: string; seq: string; definition: string }>(
    'SELECT epoch, seq::VARCHAR AS seq, definition FROM _marts',
  )
  return row && { ...row, seq: Number(row.seq) }
}

/** True once the marts have been built. Until then they are empty. */
export const hasMarts = async (writer: Writer): Promise<boolean> => (await positionOf(writer)) !== undefined

/** Where a name beside an id comes from: each has a file `sql/refresh/renamed_by_NAME.sql`, which adds the conversations whose facts show it. */
const NAMES = ['organizations', 'dim_agents', 'dim_people', 'dim_teams'] as const

/** Conversations whose facts are computed at once: those of three million at once took more than the memory limit. */
const SLICE = 200_000

const isDimension = ({ refresh, builtFrom }: Mart): boolean =>
  refresh === 'whole' && !builtFrom.some(table => table.startsWith('marts.'))
const isOfConversations = ({ refresh }: Mart): boolean => refresh === 'conversations'

/** Dimensions, facts of conversations, which have names of dimensions, figures of days from tables, and the marts that are built from marts. */
const parts = () => ({
  dimensions: marts().filter(isDimension),
  facts: marts().filter(isOfConversations),
  ofDays: marts().filter(isOfDays),
  rest: marts().filter(mart => !isDimension(mart) && !isOfConversations(mart) && !isOfDays(mart)),
})

/** One mart of each grouping. */
const byGrouping = (grouped: readonly Mart[]): Mart[] => [
  ...new Map(grouped.map(mart => [mart.groups.join(), mart])).values(),
]

async function rebuild(writer: Writer, slice: number): Promise<void> {
  await beginEpoch(writer)
  await defineMacros(writer)
  const { dimensions, facts, ofDays, rest } = parts()
  await fillPeople(writer)
  for (const mart of dimensions) await fillMart(writer, mart)
  for (const mart of facts) await emptyMart(writer, mart)
  const starts = await writer.rows<{ first: string }>(
    `SELECT _record::VARCHAR AS first FROM (SELECT _record, row_number() OVER (ORDER BY _record) AS n FROM conversations)
     WHERE n % $slice = 1 % $slice ORDER BY _record`,
    { slice },
  )
  for (const [index, { first }] of starts.entries()) {
    const end = starts[index + 1]
    const numbers = `_record >= ${first}${end ? ` AND _record < ${end.first}` : ''}`
    const scope = await scopeConversations(writer, { numbers, areCopied: false })
    for (const mart of facts) await addScope(writer, mart, scope)
  }
  for (const mart of ofDays) await emptyMart(writer, mart)
  const days = `SELECT DISTINCT ${DAYS.join(', ')} FROM conversations WHERE day IS NOT NULL`
  if (ofDays.length > 0) await created(writer, touchedGroups(DAYS), days)
  if (ofDays.length > 0)
    await eachDaySlice(writer, slice, async (_, scope) => {
      for (const mart of ofDays) await addScope(writer, mart, scope)
    })
  for (const mart of rest) {
    if (mart.refresh === 'whole') await fillMart(writer, mart)
    else {
      await emptyMart(writer, mart)
      await eachGroupSlice(writer, { mart, slice }, scope => addScope(writer, mart, scope))
    }
  }
  await writer.run(
    'INSERT INTO _consumers SELECT $name, 0, now(), NULL WHERE $name NOT IN (SELECT name FROM _consumers)',
    {
      name: MARTS_CONSUMER,
    },
  )
  forgetLogging(writer)
}

const isBuiltFrom =
  ({ name }: Mart) =>
  ({ builtFrom }: Mart): boolean =>
    builtFrom.includes(`marts.${name}`)

const isSameGrouping =
  (groups: readonly string[]) =>
  (mart: Mart): boolean =>
    mart.groups.join() === groups.join()

/** Tables other than those of conversations whose changed keys a file of `sql/refresh` reads. */
const LOOKED_UP = ['organizations', 'custom_metrics']

/** The conversations that changed. An observation's key has more columns than the conversation's. */
const changedConversations = (changes: Changes): string =>
  changes.tables
    .filter(({ published }) => OF_CONVERSATIONS.includes(published.table))
    .map(({ published }) => `SELECT ${CONVERSATION_KEY.join(', ')} FROM (${changedKeys(published, changes)})`)
    .concat(`SELECT ${CONVERSATION_KEY.join(', ')} FROM conversations WHERE false`)
    .join(' UNION ')

/** True for sources whose changes a refresh knows. */
const isFollowed = (table: string): boolean =>
  table === PEOPLE || table.startsWith('marts.') || PUBLISHED_TABLES.some(published => published.table === table)

/** Whole marts that changed conversations rarely concern: each has a file `sql/refresh/concerned_NAME.sql`, which returns a row if they do. */
const RARELY_CONCERNED = ['dim_agents', 'dim_calendar']

/**
 * Does work with the changed conversations, slice by slice: `work` is given a relation of their keys, and their rows. A single slice is not read
 * again while it has the same conversations. @returns whether there was one slice at most
 */
function inSlices(writer: Writer, slice: number) {
  let copied: { conversations: number; scope: Scope } | undefined
  return async (work: (keys: string, scope: Scope) => Promise<void>): Promise<boolean> => {
    const [row] = await writer.rows<{ n: string }>('SELECT count(*)::VARCHAR AS n FROM changed_conversations')
    const all = Number(row!.n)
    if (all > slice) {
      const numbered = `SELECT *, (row_number() OVER () - 1) // ${slice} AS slice FROM changed_conversations`
      await created(writer, 'numbered', numbered)
      for (let first = 0; first < all; first += slice) {
        await created(writer, 'changed_slice', `SELECT * EXCLUDE (slice) FROM numbered WHERE slice = ${first / slice}`)
        await work('changed_slice', await scopeConversations(writer, { keys: 'changed_slice', areCopied: false }))
      }
    } else if (all > 0) {
      const keys = 'changed_conversations'
      if (copied?.conversations !== all)
        copied = { conversations: all, scope: await scopeConversations(writer, { keys, areCopied: true }) }
      await work(keys, copied.scope)
    }
    return all <= slice
  }
}

async function update(writer: Writer, changes: Changes, slice: number): Promise<void> {
  const changed = new Set(changes.tables.map(({ published }) => published.table))
  const isConcerned = ({ builtFrom }: Mart): boolean =>
    builtFrom.some(table => changed.has(table) || !isFollowed(table))
  if (![...changed].some(table => !table.startsWith('marts.')) && !marts().some(isConcerned)) return
  const { dimensions, facts, ofDays, rest } = parts()
  const grouped = [...ofDays, ...rest].filter(({ refresh }) => refresh === 'groups')
  await beginEntries(writer)
  await created(writer, 'changed_conversations', changedConversations(changes))
  for (const { name, groups } of byGrouping(grouped))
    await created(writer, touchedGroups(groups), `SELECT ${groups.join(', ')} FROM marts.${name} LIMIT 0`)
  for (const table of LOOKED_UP) {
    const entries = changes.tables.find(({ published }) => published.table === table)
    if (entries) await created(writer, `changed_${table}`, changedKeys(entries.published, changes))
  }

  /** Facts that changed conversations have or had rows of. Tags of a day may change although no fact does. */
  const touching = new Set<string>()
  const eachSlice = inSlices(writer, slice)
  await beginPeople(writer)
  let isOneSlice = await eachSlice((_, scope) => findPeople(writer, scope))
  if (await followPeople(writer)) changed.add(PEOPLE)

  /** Computes a mart as a whole, if it is concerned. */
  const whole = async (mart: Mart): Promise<void> => {
    const { name, builtFrom } = mart
    if (!isConcerned(mart)) return
    if (isOneSlice && RARELY_CONCERNED.includes(name)) {
      const byOthers = builtFrom.some(
        table => table !== 'conversations' && !table.startsWith('marts.') && changed.has(table),
      )
      if (!byOthers && (await writer.rows(sqlFile(`refresh/concerned_${name}`))).length === 0) return
    }
    if (await replaceDifferent(writer, mart)) changed.add(`marts.${name}`)
  }
  const scoped = async (mart: Mart, rows: { of: string; scope: Scope }): Promise<void> => {
    const kept = grouped.filter(isBuiltFrom(mart)).flatMap(({ groups }) => groups)
    const replaced = await replaceScope(writer, mart, { ...rows, columns: CONVERSATION_KEY, kept })
    if (replaced.rows > 0) touching.add(mart.name)
    if (replaced.different > 0) changed.add(`marts.${mart.name}`)
  }
  /** Collects the groups that the rows of facts belonged to before, and belong to now. */
  const touch = async (): Promise<void> => {
    for (const { groups } of byGrouping(grouped)) {
      const built = grouped.filter(isSameGrouping(groups))
      const touched = facts
        .filter(fact => touching.has(fact.name) && built.some(isBuiltFrom(fact)))
        .flatMap(({ name }) => [`stale_${name}`, `fresh_${name}`])
        .map(
          rows =>
            `SELECT ${groups.join(', ')} FROM ${rows} WHERE ${groups.map(column => `${column} IS NOT NULL`).join(' AND ')}`,
        )
      if (touched.length > 0) await writer.run(`INSERT INTO ${touchedGroups(groups)} ${touched.join(' UNION ')}`)
    }
  }
  const ofGroups = async (mart: Mart, rows: { of: string; scope: Scope }): Promise<void> => {
    if (await replaceGroups(writer, mart, rows)) changed.add(`marts.${mart.name}`)
  }

  for (const mart of dimensions) await whole(mart)
  for (const name of NAMES)
    if (changed.has(name) || changed.has(`marts.${name}`)) await writer.run(sqlFile(`refresh/renamed_by_${name}`))
  isOneSlice = await eachSlice(async (of, scope) => {
    for (const mart of facts) await scoped(mart, { of, scope })
    await touch()
  })
  if (changed.has('custom_metrics')) await writer.run(sqlFile('refresh/regrouped_by_custom_metrics'))
  if (ofDays.some(isConcerned))
    await eachDaySlice(writer, slice, async (of, scope) => {
      for (const mart of ofDays) await ofGroups(mart, { of, scope })
    })
  const eachTouched = touchedGroupSlices(writer, slice)
  for (const mart of rest) {
    if (mart.refresh === 'whole') await whole(mart)
    else if (isConcerned(mart)) await eachTouched(mart, (of, scope) => ofGroups(mart, { of, scope }))
  }
  await logEntries(writer)
}

interface RefreshOptions {
  slice?: number
}

/** `refreshMarts` inside the caller's transaction. */
export async function refreshMartsWithin(writer: Writer, { slice = SLICE }: RefreshOptions = {}): Promise<Watermark> {
  const position = await positionOf(writer)
  const known = definition()
  const changes = await changesSince(writer, { name: MARTS_CONSUMER, watermark: position ?? null })
  if (changes.kind === 'refill' || position?.definition !== known) await rebuild(writer, slice)
  else await update(writer, changes, slice)
  const { epoch, seq } = await logRange(writer)
  if (position?.epoch !== epoch || position.seq !== seq) {
    await writer.run('DELETE FROM _marts')
    await writer.run('INSERT INTO _marts VALUES ($epoch, $seq, $definition)', { epoch, seq, definition: known })
    await acknowledgeWithin(writer, MARTS_CONSUMER, { epoch, seq })
  }
  return { epoch, seq }
}

/**
 * Brings the marts up to the end of the change log.
 * @returns the end of the log, which includes the rows of marts that it has changed
 */
export const refreshMarts = (writer: Writer, options: RefreshOptions = {}): Promise<Watermark> =>
  writer
    .transaction(() => refreshMartsWithin(writer, options))
    .catch(error => {
      // The consumer may have been registered by the transaction that failed.
      forgetLogging(writer)
      throw error
    })
