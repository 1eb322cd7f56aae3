// Tombstones: who was forgotten, as keyed hashes, so that the file names nobody and still recognises a person whom the
// vendor sends again. It lies beside the landed pages, which every process that lands pages can read:
//
//   landing/.forgotten.key      32 random bytes
//   landing/.forgotten.ndjson   one line for each step of an erasure
import { createHmac, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import type { Forgotten } from '../core/identifiers.ts'
import { ensureFile } from '../files/durable.ts'
import { appendJsonLines, readJsonLines } from '../files/line-log.ts'

/** An erasure and how far it has come. Contains no personal value. */
export interface Erasure {
  id: string
  requestedMs: number
  /** When landing, spool and warehouse were free of the person, ms; null while they are not. */
  erasedMs: number | null
  /** When its tombstone was lifted, ms; null while it stands. */
  liftedMs: number | null
  /** Number of identifiers and conversations. */
  identifiers: number
  conversations: number
  /** What was erased, by place. */
  places: Readonly<Record<string, number>>
  /** SHA-256 of the replaced pages, by workspace. */
  checksums: readonly string[]
  /** When each target had published the deletion, ms. */
  targets: Readonly<Record<string, number>>
}

/** One line. The first of an erasure has its hashes. */
interface Entry {
  erasure: string
  atMs: number
  identifiers?: readonly string[]
  conversations?: readonly string[]
  countries?: readonly string[]
  /** What was found, by place, before anything was erased: a kill loses the counts of what was erased before it. */
  found?: Readonly<Record<string, number>>
  /** Set when landing, spool and warehouse are erased: what was, by place. */
  places?: Readonly<Record<string, number>>
  checksums?: readonly string[]
  /** Set when a target has published the deletion. */
  target?: string
  lifted?: true
  /** For `BEGUN`: the workspace of the conversations; set without them once what was stored of them is erased. */
  workspaceId?: string
}

/** Stands for an erasure in entries about conversations that forgotten people have begun since. */
const BEGUN = 'begun'

const keyFile = (home: string): string => join(home, 'landing', '.forgotten.key')
const logFile = (home: string): string => join(home, 'landing', '.forgotten.ndjson')

const conversationText = (workspaceId: string, agentId: string | null, id: string): string =>
  `conversation:${JSON.stringify([workspaceId, agentId, id])}`

type Hash = (text: string) => string

/** @throws HOME_UNUSABLE if the key is missing or damaged: without it the tombstones would recognise nobody */
async function hashOf(home: string): Promise<Hash> {
  const file = keyFile(home)
  const text = await readFile(file, 'utf8').catch(cause => {
    throw homeUnusable(file, cause)
  })
  const key = Buffer.from(text.trim(), 'hex')
  if (key.length !== 32) throw homeUnusable(file, new Error('it does not contain a key of 32 bytes'))
  return value => createHmac('sha256', key).update(value).digest('base64url').slice(0, 27)
}

/** Whoever opens a data folder that is no folder reports it. */
const entriesOf = async (home: string): Promise<Entry[]> =>
  existsSync(logFile(home)) ? readJsonLines<Entry>(logFile(home), 'erasure') : []

/** Nobody was forgotten. */
export const NOBODY: Forgotten = {
  stamp: '',
  isEmpty: true,
  namesConversations: false,
  countries: [],
  hasIdentifier: () => false,
  hasConversation: () => false,
  begun: new Set(),
}

function forgottenIn(entries: readonly Entry[], hash: Hash, stamp: string): Forgotten {
  const lifted = new Set(entries.flatMap(entry => (entry.lifted ? [entry.erasure] : [])))
  // Whose conversations they are is not known, so a lifted tombstone ends all of these; the others are recognised again.
  const since = entries.findLastIndex(entry => entry.lifted)
  const standing = entries.filter(({ erasure }, index) => !lifted.has(erasure) && (erasure !== BEGUN || index > since))
  const begun = new Set<string>()
  for (const { workspaceId, conversations } of entries)
    if (workspaceId !== undefined) begun[conversations ? 'add' : 'delete'](workspaceId)
  const all = (key: 'identifiers' | 'conversations' | 'countries') => standing.flatMap(entry => entry[key] ?? [])
  const [identifiers, conversations] = [new Set(all('identifiers')), new Set(all('conversations'))]
  return {
    stamp,
    isEmpty: identifiers.size + conversations.size === 0,
    namesConversations: conversations.size > 0,
    countries: [...new Set(all('countries'))],
    hasIdentifier: identifier => identifiers.size > 0 && identifiers.has(hash(identifier)),
    hasConversation: ({ workspaceId, agentId, id }) =>
      conversations.size > 0 && conversations.has(hash(conversationText(workspaceId, agentId, id))),
    begun,
  }
}

/** Returns a function that reads the tombstones, again only if they have changed. @throws HOME_UNUSABLE */
export function readForgotten(home: string): () => Promise<Forgotten> {
  let known = NOBODY
  return async () => {
    const file = logFile(home)
    const found = await stat(file).catch(cause => {
      if (hasCode(cause, 'ENOENT') || hasCode(cause, 'ENOTDIR')) return null
      throw homeUnusable(file, cause)
    })
    const stamp = found === null ? '' : `${found.size} ${found.mtimeMs}`
    if (stamp === known.stamp) return known
    known = forgottenIn(await entriesOf(home), await hashOf(home), stamp)
    return known
  }
}

export interface Remembered {
  identifiers: readonly string[]
  conversations: readonly { workspaceId: string; agentId: string; id: string }[]
  countries: readonly string[]
}

/** Returns what would be recognised with a tombstone for these, without writing one. */
export function forgottenAs(remembered: Remembered): Forgotten {
  const plain: Hash = text => text
  return forgottenIn([entryOf(remembered, plain, { erasure: '', atMs: 0 })], plain, '')
}

const entryOf = ({ identifiers, conversations, countries }: Remembered, hash: Hash, of: Entry): Entry => ({
  ...of,
  identifiers: identifiers.map(hash),
  // An event may lack the agent's id.
  conversations: conversations.flatMap(({ workspaceId, agentId, id }) =>
    [agentId, null].map(agent => hash(conversationText(workspaceId, agent, id))),
  ),
  countries,
})

/**
 * Writes a tombstone durably, before anything is erased. `found` counts what there is to erase, by place.
 * @returns the id of the erasure @throws HOME_UNUSABLE
 */
export async function remember(
  home: string,
  { found = {}, ...remembered }: Remembered & Pick<Entry, 'found'>,
  nowMs: number,
): Promise<string> {
  // With a new key, the tombstones that exist would recognise nobody.
  if ((await entriesOf(home)).length === 0)
    await ensureFile(keyFile(home), () => `${randomBytes(32).toString('hex')}\n`)
  const erasure = randomBytes(6).toString('hex')
  await appendJsonLines(logFile(home), [entryOf(remembered, await hashOf(home), { erasure, atMs: nowMs, found })])
  return erasure
}

/**
 * Remembers conversations that forgotten people have begun since, so that events that name nobody are dropped too.
 * @throws HOME_UNUSABLE
 */
export async function rememberBegun(
  home: string,
  workspaceId: string,
  conversations: readonly { agentId: string; id: string }[],
  nowMs: number,
): Promise<void> {
  const own = conversations.map(one => ({ workspaceId, ...one }))
  const of = { erasure: BEGUN, atMs: nowMs }
  const entry = entryOf({ identifiers: [], conversations: own, countries: [] }, await hashOf(home), of)
  await appendJsonLines(logFile(home), [{ ...entry, workspaceId }])
}

/** Records that what was stored of such conversations is erased. @throws HOME_UNUSABLE */
export const recordBegunErased = (home: string, workspaceId: string, nowMs: number): Promise<void> =>
  appendJsonLines(logFile(home), [{ erasure: BEGUN, atMs: nowMs, workspaceId }])

/** Records a step of an erasure. @throws HOME_UNUSABLE */
export const recordStep = (
  home: string,
  entry: Pick<Entry, 'erasure' | 'atMs' | 'places' | 'checksums' | 'target' | 'lifted'>,
) => appendJsonLines(logFile(home), [entry])

const most = (a: Erasure['places'], b: Erasure['places']): Erasure['places'] =>
  Object.fromEntries(Object.keys({ ...a, ...b }).map(place => [place, Math.max(a[place] ?? 0, b[place] ?? 0)]))

/** Returns all erasures, oldest first. @throws HOME_UNUSABLE */
export async function erasures(home: string): Promise<Erasure[]> {
  const found = new Map<string, Erasure>()
  for (const entry of await entriesOf(home)) {
    const { erasure: id, atMs, identifiers, conversations, places, checksums = [], target, lifted } = entry
    if (id === BEGUN) continue
    const before = found.get(id)
    const begun = identifiers === undefined ? before : undefined
    const erasure: Erasure = begun ?? {
      ...{ id, requestedMs: atMs, erasedMs: null, liftedMs: null, places: entry.found ?? {} },
      ...{ checksums: [], targets: {} },
      ...{ identifiers: identifiers?.length ?? 0, conversations: (conversations?.length ?? 0) / 2 },
    }
    found.set(id, {
      ...erasure,
      ...(places && {
        places: most(erasure.places, places),
        // A repeated step finds no page to replace.
        checksums: [...erasure.checksums, ...checksums],
        erasedMs: atMs,
      }),
      ...(target !== undefined && { targets: { [target]: atMs, ...erasure.targets } }),
      ...(lifted && { liftedMs: atMs }),
    })
  }
  return [...found.values()]
}

/** Returns the erasures that landing, spool and warehouse have not completed. @throws HOME_UNUSABLE */
export const pendingErasures = async (home: string): Promise<Erasure[]> =>
  (await erasures(home)).filter(({ erasedMs, liftedMs }) => erasedMs === null && liftedMs === null)
