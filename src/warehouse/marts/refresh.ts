// Brings the marts up to the end of the change log, in one transaction, which also logs the changed rows: a publication
// reads marts like tables.
//
//   changed keys since `_marts` ─▶ people, dimensions ─▶ facts of the conversations that changed or whose names did
//                               ─▶ groups of daily marts that these facts touched, old and new ─▶ the rest ─▶ `_marts`
//
// Without a usable position in the log (a new epoch, other SQL, a trimmed log) everything is computed again, in a new epoch.
import { createHash } from 'node:crypto'
import { acknowledgeWithin } from '../changes/consumers.ts'
import { beginEpoch, forgetLogging, logRange, type Watermark } from '../changes/log-changes.ts'
import { PUBLISHED_TABLES } from '../changes/published-tables.ts'
import { type Changes, changedKeys, changesSince } from '../changes/read-changes.ts'
import type { Writer } from '../connection.ts'
import { MACROS } from '../macros.ts'
import { sqlFile } from '../sql-files.ts'
import { type Mart, marts } from './declarations.ts'
import { DAYS, eachDaySlice, eachGroupSlice, isOfDays, touchedGroups, touchedGroupsOf } from './groups.ts'
import { areNamedDifferently, nameLanguages } from './languages.ts'
import {
  addScope,
  beginEntries,
  emptyMart,
  fillMart,
  logEntries,
  replaceDifferent,
  replaceRows,
} from './mart-tables.ts'
import {
  CONVERSATION_KEY,
  created,
  defineMacros,
  PEOPLE_SELECT,
  type Scope,
  scopeConversations,
  selectInScope,
} from './scope.ts'

/** Name of the marts among the consumers of the change log. */
const MARTS_CONSUMER = 'marts'

/** Tables whose changes concern one conversation. */
const OF_CONVERSATIONS = ['conversations', 'conversation_observations', 'conversation_transcripts']

/** Returns the hash of the SQL that the rows depend on, and the version of Node's CLDR, which names languages. */
const definition = (): string =>
  createHash('sha256')
    .update(JSON.stringify([marts(), sqlFile(PEOPLE_SELECT), MACROS]))
    .digest('hex')
    .slice(0, 16)
    .concat(`.${process.versions.cldr}`)

/** True if this version would compute the stored rows: another CLDR rarely names the languages that are present differently. */
async function isDefinedBy(writer: Writer, stored: string, known: string): Promise<boolean> {
  if (stored === known) return true
  return stored.split('.')[0] === known.split('.')[0] && !(await areNamedDifferently(writer))
}

async function positionOf(writer: Writer): Promise<(Watermark & { definition: string }) | undefined> {
  const [row] = await writer.rows<{ epoch: string; seq: string; definition: string }>(
    'SELECT epoch, seq::VARCHAR AS seq, definition FROM _marts',
  )
  return row && { ...row, seq: Number(row.seq) }
}

/** True once the marts have been built. Until then they are empty. */
export const hasMarts = async (writer: Writer): Promise<boolean> => (await positionOf(writer)) !== undefined

/** Sources of names that facts show beside ids. For each, `sql/refresh/renamed_by_NAME.sql` adds the affected conversations. */
const NAMES = ['organizations', 'dim_agents', 'dim_people', 'dim_teams'] as const

/** Number of conversations whose facts are computed at once: three million exceeded the memory limit. */
const SLICE = 200_000

const isDimension = ({ refresh, builtFrom }: Mart): boolean =>
  refresh === 'whole' && !builtFrom.some(table => table.startsWith('marts.'))
const isOfConversations = ({ refresh }: Mart): boolean => refresh === 'conversations'

/** Groups the marts in build order: dimensions, facts (which show dimensions' names), daily figures, marts built from marts. */
const parts = () => ({
  dimensions: marts().filter(isDimension),
  facts: marts().filter(isOfConversations),
  ofDays: marts().filter(isOfDays),
  rest: marts().filter(mart => !isDimension(mart) && !isOfConversations(mart) && !isOfDays(mart)),
})

/** Returns one mart of each grouping. */
const byGrouping = (grouped: readonly Mart[]): Mart[] => [
  ...new Map(grouped.map(mart => [mart.groups.join(), mart])).values(),
]

async function rebuild(writer: Writer, slice: number): Promise<void> {
  await beginEpoch(writer)
  await defineMacros(writer)
  await nameLanguages(writer)
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

/** Tables besides those of conversations that `sql/refresh` reads changed keys from. */
const LOOKED_UP = ['organizations', 'custom_metrics']

/** Returns the SQL of the changed conversations. An observation's key has more columns than the conversation's. */
const changedConversations = (changes: Changes): string =>
  changes.tables
    .filter(({ published }) => OF_CONVERSATIONS.includes(published.table))
    .map(({ published }) => `SELECT ${CONVERSATION_KEY.join(', ')} FROM (${changedKeys(published, changes)})`)
    .concat(`SELECT ${CONVERSATION_KEY.join(', ')} FROM conversations WHERE false`)
    .join(' UNION ')

/** True for sources whose changes a refresh can see. */
const isFollowed = (table: string): boolean =>
  table === PEOPLE || table.startsWith('marts.') || PUBLISHED_TABLES.some(published => published.table === table)

/** The bookkeeping that the marts have followed in this process: its tables log no changes. */
const bookkeepingFollowed = new WeakMap<Writer, string>()

/** Returns a text that changes with the bookkeeping of loads, coverage and quarantine. */
async function bookkeepingOf({ rows }: Pick<Writer, 'rows'>): Promise<string> {
  const [row] = await rows<{ text: string }>(
    `SELECT concat_ws(' ', (SELECT count(*) FROM _loads), (SELECT count(*) FROM _quarantine),
       (SELECT sum(hash(workspace_id, agent_id, from_sec, to_sec)) FROM _covered)) AS text`,
  )
  return row!.text
}

/** Whole marts that changed conversations rarely affect. For each, `sql/refresh/concerned_NAME.sql` returns a row if they do. */
const RARELY_CONCERNED = ['dim_agents', 'dim_calendar']

const countChanged = async ({ rows }: Writer): Promise<number> => {
  const [row] = await rows<{ n: string }>('SELECT count(*)::VARCHAR AS n FROM changed_conversations')
  return Number(row!.n)
}

/** Applies the changes; rebuilds everything if they affect more conversations than a slice. */
async function update(writer: Writer, changes: Changes, slice: number): Promise<void> {
  const changed = new Set(changes.tables.map(({ published }) => published.table))
  const hasLoaded = bookkeepingFollowed.get(writer) !== (await bookkeepingOf(writer))
  const isConcerned = ({ builtFrom }: Mart): boolean =>
    builtFrom.some(table => changed.has(table) || (hasLoaded && !isFollowed(table)))
  if (![...changed].some(table => !table.startsWith('marts.')) && !marts().some(isConcerned)) return
  const { dimensions, facts, ofDays, rest } = parts()
  const grouped = [...ofDays, ...rest].filter(({ refresh }) => refresh === 'groups')
  await beginEntries(writer)
  await created(writer, 'changed_conversations', changedConversations(changes))
  const conversations = await countChanged(writer)
  if (conversations > slice) return rebuild(writer, slice)
  for (const { name, groups } of byGrouping(grouped))
    await created(writer, touchedGroups(groups), `SELECT ${groups.join(', ')} FROM marts.${name} LIMIT 0`)
  for (const table of LOOKED_UP) {
    const entries = changes.tables.find(({ published }) => published.table === table)
    if (entries) await created(writer, `changed_${table}`, changedKeys(entries.published, changes))
  }

  let scope = conversations > 0 ? await scopeChanged(writer) : null
  if (scope === null) await nameLanguages(writer)
  if (await followPeople(writer, scope)) changed.add(PEOPLE)

  /** Computes a whole mart, if it is affected. */
  const whole = async (mart: Mart): Promise<void> => {
    const { name, builtFrom } = mart
    if (!isConcerned(mart)) return
    if (RARELY_CONCERNED.includes(name)) {
      const byOthers = builtFrom.some(
        table => table !== 'conversations' && !table.startsWith('marts.') && changed.has(table),
      )
      if (!byOthers && (await writer.rows(sqlFile(`refresh/concerned_${name}`))).length === 0) return
    }
    if (await replaceDifferent(writer, mart)) changed.add(`marts.${name}`)
  }
  for (const mart of dimensions) await whole(mart)
  for (const name of NAMES)
    if (changed.has(name) || changed.has(`marts.${name}`)) await writer.run(sqlFile(`refresh/renamed_by_${name}`))
  const withRenamed = await countChanged(writer)
  if (withRenamed > slice) return rebuild(writer, slice)
  if (withRenamed > conversations) scope = await scopeChanged(writer)

  /** Facts with rows, old or new, of changed conversations. Tags of a day may change although no fact does. */
  const touching: Mart[] = []
  if (scope)
    for (const mart of facts) {
      const kept = grouped.filter(isBuiltFrom(mart)).flatMap(({ groups }) => groups)
      const replaced = await replaceRows(writer, mart, { of: CHANGED, columns: CONVERSATION_KEY, scope, kept })
      if (replaced.rows > 0) touching.push(mart)
      if (replaced.different > 0) changed.add(`marts.${mart.name}`)
    }
  await touchGroups(writer, grouped, touching)
  const ofGroups = async (mart: Mart, rows: { of: string; scope: Scope }): Promise<void> => {
    const { different } = await replaceRows(writer, mart, { ...rows, columns: mart.groups })
    if (different > 0) changed.add(`marts.${mart.name}`)
  }
  if (changed.has('custom_metrics')) await writer.run(sqlFile('refresh/regrouped_by_custom_metrics'))
  if (ofDays.some(isConcerned))
    await eachDaySlice(writer, slice, async (of, scope) => {
      for (const mart of ofDays) await ofGroups(mart, { of, scope })
    })
  const inTouchedGroups = touchedGroupsOf(writer)
  for (const mart of rest) {
    if (mart.refresh === 'whole') await whole(mart)
    else if (isConcerned(mart)) await inTouchedGroups(mart, (of, scope) => ofGroups(mart, { of, scope }))
  }
  await logEntries(writer)
}

/** Temporary table with the keys of the conversations whose facts are computed again. */
const CHANGED = 'changed_conversations'

const scopeChanged = (writer: Writer): Promise<Scope> => scopeConversations(writer, { keys: CHANGED, areCopied: true })

/** Collects the groups that the replaced rows of these facts belonged to, and those that the new rows belong to. */
async function touchGroups(writer: Writer, grouped: readonly Mart[], facts: readonly Mart[]): Promise<void> {
  for (const { groups } of byGrouping(grouped)) {
    const built = grouped.filter(isSameGrouping(groups))
    const isPresent = groups.map(column => `${column} IS NOT NULL`).join(' AND ')
    const touched = facts
      .filter(fact => built.some(isBuiltFrom(fact)))
      .flatMap(({ name }) => [`stale_${name}`, `fresh_${name}`])
      .map(rows => `SELECT ${groups.join(', ')} FROM ${rows} WHERE ${isPresent}`)
    if (touched.length > 0) await writer.run(`INSERT INTO ${touchedGroups(groups)} ${touched.join(' UNION ')}`)
  }
}

interface RefreshOptions {
  slice?: number
}

/** Like `refreshMarts`, inside the caller's transaction. */
export async function refreshMartsWithin(writer: Writer, { slice = SLICE }: RefreshOptions = {}): Promise<Watermark> {
  const position = await positionOf(writer)
  const known = definition()
  const changes = await changesSince(writer, { name: MARTS_CONSUMER, watermark: position ?? null })
  const isCurrent = changes.kind === 'changes' && position && (await isDefinedBy(writer, position.definition, known))
  if (!isCurrent) await rebuild(writer, slice)
  else await update(writer, changes, slice)
  const { epoch, seq } = await logRange(writer)
  if (position?.epoch !== epoch || position.seq !== seq || position.definition !== known) {
    await writer.run('DELETE FROM _marts')
    await writer.run('INSERT INTO _marts VALUES ($epoch, $seq, $definition)', { epoch, seq, definition: known })
    await acknowledgeWithin(writer, MARTS_CONSUMER, { epoch, seq })
  }
  return { epoch, seq }
}

/**
 * Brings the marts up to the end of the change log.
 * @returns the end of the log, which includes the changed rows of marts
 */
export async function refreshMarts(writer: Writer, options: RefreshOptions = {}): Promise<Watermark> {
  try {
    const [bookkeeping, followed] = await writer.transaction(async () => [
      await bookkeepingOf(writer),
      await refreshMartsWithin(writer, options),
    ])
    bookkeepingFollowed.set(writer, bookkeeping)
    return followed
  } catch (error) {
    // The failed transaction may have registered the consumer.
    forgetLogging(writer)
    throw error
  }
}

/**
 * Table of the people that conversations name: each person's newest name and address, and the conversation with it. A refresh reads
 * only changed conversations. It searches all conversations only for people whose newest text, or only mention, a change has removed.
 */
const PEOPLE = '_people'

/** Finds all people again. The macros must be defined. */
async function fillPeople(writer: Writer): Promise<void> {
  await writer.run('RESET VARIABLE people')
  await writer.run(`DELETE FROM ${PEOPLE}`)
  await writer.run(`INSERT INTO ${PEOPLE} BY NAME ${sqlFile(PEOPLE_SELECT)}`)
}

/** Updates `_people` after changes of the conversations in scope. @returns true if a name, an address or a person changed */
async function followPeople(writer: Writer, scope: Scope | null): Promise<boolean> {
  await writer.run('RESET VARIABLE people')
  await created(writer, 'found_people', `FROM ${PEOPLE} LIMIT 0`)
  if (scope) await writer.run(`INSERT INTO found_people BY NAME ${selectInScope(sqlFile(PEOPLE_SELECT), scope)}`)
  const lost = await created(
    writer,
    'lost_people',
    `FROM ${PEOPLE} SEMI JOIN changed_conversations USING (${CONVERSATION_KEY.join(', ')})`,
  )
  if (lost > 0) await findDoubtful(writer)
  const named = ['lost_people', 'found_people'].map(people => `SELECT workspace_id, user_id FROM ${people}`)
  await created(writer, 'touched_people', named.join(' UNION '))
  await created(writer, 'next_people', sqlFile('refresh/next_people'))
  const [different] = await writer.rows(
    `SELECT 1 FROM (FROM ${PEOPLE} SEMI JOIN touched_people USING (workspace_id, user_id)) p
     FULL JOIN next_people n USING (workspace_id, user_id, kind)
     WHERE p.kind IS NULL OR n.kind IS NULL OR p.text IS DISTINCT FROM n.text LIMIT 1`,
  )
  await writer.run(`DELETE FROM ${PEOPLE} WHERE (workspace_id, user_id) IN (FROM touched_people)`)
  await writer.run(`INSERT INTO ${PEOPLE} BY NAME FROM next_people`)
  return different !== undefined
}

/** Searches all conversations for people without an equally new text in another changed conversation. */
async function findDoubtful(writer: Writer): Promise<void> {
  if ((await created(writer, 'doubtful_people', sqlFile('refresh/doubtful_people'))) === 0) return
  await writer.run('SET VARIABLE people = (SELECT list(user_id) FROM doubtful_people)')
  await defineMacros(writer)
  await writer.run(`INSERT INTO found_people BY NAME ${sqlFile(PEOPLE_SELECT)}`)
}
