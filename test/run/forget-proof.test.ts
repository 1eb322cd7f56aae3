// A person is planted wherever convohouse stores anything, and forgotten. Then no byte of any file contains the person, nothing
// of anybody else has changed, and the person stays away although the vendor sends them again.
import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import type { Config } from '../../src/config.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { recordStep, remember } from '../../src/landing/tombstones.ts'
import { publish } from '../../src/publish/publish.ts'
import { findPeople } from '../../src/run/find-people.ts'
import { replay } from '../../src/run/replay.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { sealedSegments } from '../../src/spool/segments.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { warehouseChecks } from '../../src/warehouse/checks/all-checks.ts'
import { runCheck } from '../../src/warehouse/checks/results.ts'
import { rowsHere, withParams } from '../../src/warehouse/query/rows.ts'
import { startCommand } from '../command.ts'
import { below, canariesIn, inBytes } from '../publish/canaries.ts'
import { ENTRY, KEEP, SETTINGS } from '../publish/published.ts'
import { configOf, NO_REFRESH, START_MS, TOKEN_ENV, WORKSPACE, writeConfig } from '../scene.ts'
import { receiveEvents, spoolEvent } from '../spool/arbitrary-events.ts'
import { isDeep } from '../tier.ts'
import { everyColumn } from '../workflows/simulated/every-column.ts'
import { observingProxy } from '../workflows/simulated/observing-proxy.ts'
import { openSimulatedApp, type SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { EMAIL, idOf, payloadsAbout, plantedPayload, plantedRecord, vendorsId } from './planted-person.ts'

type Document = Record<string, unknown>
type Tables = Record<string, string[]>

/** The person's conversations and the vendor's answers about them. */
interface Vendor {
  sandbox: Sandbox
  url: string
  /** Positions of the person's conversations among them, by the vendor's id. */
  indexes: ReadonlyMap<string, number>
}

/** Number of the person's conversations of each agent. */
const OF_EACH_AGENT = 4

/** The person's conversation whose record has no id, so that it is quarantined. It has the person's address. */
const NAMELESS = 3

/** Answers in the vendor's place: with the person in some records, one of them without an id, and once with a page that is no JSON. */
async function openVendor(sandbox: Sandbox): Promise<Vendor> {
  const agents = sandbox.world.agentIds()
  const chosen = agents.flatMap(agent => {
    const all = [...sandbox.world.conversations(agent, START_MS)].filter(({ billableSessions }) => billableSessions > 0)
    return all.filter((_, index) => index % 3 === 1).slice(0, OF_EACH_AGENT)
  })
  const indexes = new Map(chosen.map(({ id }, index) => [id, index]))
  let exports = 0
  const url = await observingProxy(sandbox.url, ({ pathname, searchParams }) => {
    if (!pathname.includes('export')) return undefined
    const ids = searchParams.get('convoIds')
    if (ids !== null) searchParams.set('convoIds', ids.split(',').map(vendorsId).join(','))
    if (++exports === 4) return () => `<html>${EMAIL}</html>`
    return body => {
      for (const [at, record] of (body.data as Document[]).entries()) {
        const index = indexes.get(record.ID as string)
        if (index === undefined) continue
        // Pages of the second agent need no coercion, so that they are compacted.
        const { ID, ...rest } = plantedRecord(record, index, index < OF_EACH_AGENT)
        body.data[at] = index === NAMELESS ? rest : { ID, ...rest }
      }
      // Half of the answers escape what they may.
      const text = JSON.stringify(body, null, exports % 3)
      return exports % 2 === 0 ? text : text.replaceAll('kanarien', '\\u006banarien').replaceAll('@', '\\u0040')
    }
  })
  return { sandbox, url, indexes }
}
/** Sends the vendor's events between two times, with the person in those of the person's conversations. */
async function sendEvents({ indexes }: Vendor, { sandbox, config }: SimulatedApp, fromMs: number): Promise<void> {
  const nowMs = sandbox.clock.now()
  const payloads = [...sandbox.world.events(fromMs, nowMs)].map(({ payload }) => {
    const given = payload as unknown as Document
    const index = indexes.get(String(given.convoId))
    return index === undefined ? given : plantedPayload(given, index)
  })
  await receiveEvents({ home: config.home, workspaceId: WORKSPACE, nowMs }, payloads)
}

/** Returns the segment that `receive` seals. */
async function sealedBy(home: string, receive: () => Promise<void>): Promise<string> {
  const before = await sealedSegments(home, WORKSPACE)
  await receive()
  return (await sealedSegments(home, WORKSPACE)).find(segment => !before.includes(segment))!
}

/** Receives what cannot be read: an event that is no JSON, and a segment that is damaged afterwards. */
async function receiveDamaged({ config: { home }, sandbox }: SimulatedApp): Promise<void> {
  const now = () => sandbox.clock.now()
  const segment = await sealedBy(home, async () => {
    const spool = openSpool({ home, now })
    const unreadable = spoolEvent({ text: `{"leadEmail": "${EMAIL}", ` }, WORKSPACE, now())
    await spool.append({ ...unreadable, type: 'unreadable' })
    await spool.append(spoolEvent({ event: 'lead_captured', leadEmail: EMAIL }, WORKSPACE, now()))
    await spool.close()
  })
  const bytes = await readFile(segment)
  bytes[bytes.lastIndexOf('lead_captured')]! ^= 1
  await writeFile(segment, bytes)
}

/** Leaves a segment open, as a receiver that was killed. */
async function leaveOpenSegment({ config: { home }, sandbox }: SimulatedApp): Promise<void> {
  const nowMs = sandbox.clock.now()
  const lead = { event: 'lead_captured', leadEmail: EMAIL }
  const segment = await sealedBy(home, () => receiveEvents({ home, workspaceId: WORKSPACE, nowMs }, [lead]))
  const left = join(spoolFolders(home, WORKSPACE).open, basename(segment))
  await rename(segment, left)
  await utimes(left, 0, 0)
  await receiveEvents({ home, workspaceId: WORKSPACE, nowMs }, [
    { event: 'lead_captured', leadPhone: '+49(170)5550199' },
  ])
}

/** Places in which the person is before, beside those that `leaveBehind` fills. */
const PLANTED = [
  /conversations\/[^/]+\/2026-06\/[^/]+$/,
  /conversations\/.*bundles/,
  /organizations\/.*kanarienvogel/,
  /custom_metrics\//,
  /failed\//,
  /drained\/.*gz$/,
  /drained\/.*ndjson$/,
  /sealed\/.*ndjson$/,
  /damaged$/,
  /spool\/.*open\//,
]

/** Returns the files that contain the person, with some canaries. */
async function tracesIn(home: string): Promise<[file: string, canaries: string[]][]> {
  if ((await canariesIn(home)).length === 0) return []
  const found = below(home).map(
    async (file): Promise<[string, string[]]> => [relative(home, file), await canariesIn(file)],
  )
  return (await Promise.all(found)).filter(([, canaries]) => canaries.length > 0)
}

/** Copies a data folder for a test. */
async function copyOf(home: string): Promise<string> {
  const copy = `${home}-control`
  await cp(home, copy, { recursive: true })
  return copy
}

/** Writes what killed processes and the shell leave behind. */
async function leaveBehind(home: string): Promise<void> {
  const files = [
    'tmp/coerced-1-ab.json',
    'tmp/publication-1/conversations.keys',
    'query-history',
    'query-parts/1/a.csv',
  ]
  for (const file of files) {
    await mkdir(dirname(join(home, file)), { recursive: true })
    await writeFile(join(home, file), `SELECT * FROM conversations WHERE user_email = '${EMAIL}'`)
  }
}

const digest = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex')

/** Returns the hashes of files of landing and spool, by path; `withPerson`: those that contain the person, or the others. */
async function filesOf(home: string, withPerson: boolean): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const file of [join(home, 'landing'), join(home, 'spool')].flatMap(below)) {
    const has = [...inBytes(Buffer.from(file)), ...inBytes(await readFile(file))].length > 0
    if (has === withPerson) found[relative(home, file)] = await digest(file)
  }
  return found
}

async function withTables<T>(
  config: Config,
  read: (app: Awaited<ReturnType<typeof openApp>>) => Promise<T>,
): Promise<T> {
  const app = await openApp({ config })
  try {
    return await read(app)
  } finally {
    await app.close()
  }
}

const tablesAt = (config: Config): Promise<Tables> => withTables(config, app => everyColumn(app.warehouse.writer.rows))

/** Runs the command on the data folder. @returns its standard output, parsed */
async function command(file: string, ...args: string[]) {
  const { code, stdout, stderr } = await startCommand([...args, '--json', '--config', file], { env: TOKEN_ENV }).ended
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

/** Returns rows that are in one list and not in the other, of each table. */
function differing(some: Tables, others: Tables): Tables {
  const found = Object.entries(some).map(([table, rows]): [string, string[]] => {
    const there = new Set(others[table])
    return [table, rows.filter(row => !there.has(row))]
  })
  return Object.fromEntries(found.filter(([, rows]) => rows.length > 0))
}

const withoutPerson = (tables: Tables): Tables =>
  Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [table, rows.filter(row => inBytes(Buffer.from(row)).length === 0)]),
  )

/** The snapshot of `serve` is a target, too. */
const TARGETS = [{ name: 'files', type: 'parquet' }, ...(isDeep ? [{ name: 'snap', type: 'snapshot' }] : [])]

const SANDBOX = { agents: 2, conversations: 26, historyDays: 6, arrivalsPerDay: 8, traffic: true }

/** Tables that describe files and requests: other figures for a page without the person. */
const ABOUT_FILES = ['_drift', '_issues', '_loads', '_publications', '_quarantine', '_requests', '_windows']

/** The person's events that name no conversation: their rows in this table have no text of the person. */
const NAMELESS_EVENTS = ['chat_delegated', 'lead_captured', 'lead_captured', 'unreadable']

describe('a forgotten person', () => {
  it('is in no byte of any file, stays away, and nothing of anybody else has changed', async () => {
    let vendor!: Vendor
    const settings = { maxPage: 6, resources: isDeep ? RESOURCE_NAMES : (['organizations', 'custom_metrics'] as const) }
    const { simulated, end } = await openSimulatedApp({
      sandbox: SANDBOX,
      settings,
      async through(sandbox) {
        vendor = await openVendor(sandbox)
        return vendor.url
      },
    })
    const {
      sandbox,
      config: { home },
    } = simulated
    try {
      const file = await writeConfig(dirname(home), {
        ...{ url: vendor.url, home, workspace: NO_REFRESH },
        top: { targets: TARGETS.map(target => ({ ...target, pii: KEEP })) },
      })
      const config = configOf(file, settings)
      const publishTo = async (...targets: TargetConfig[]) => {
        for (const target of targets)
          await publish({ warehouse: simulated.app.warehouse, home, target, settings: SETTINGS, entry: ENTRY })
      }
      const [agentId = ''] = sandbox.world.agentIds()
      const [id = ''] = vendor.indexes.keys()
      await simulated.sync()
      await publishTo(config.targets[0]!)
      simulated.advance(DAY + HOUR)
      await sendEvents(vendor, simulated, START_MS)
      const nowMs = sandbox.clock.now()
      await receiveEvents({ home, workspaceId: WORKSPACE, nowMs }, payloadsAbout({ agentId, id, nowMs }))
      await simulated.drain()
      await simulated.sync()
      simulated.advance(DAY)
      await sendEvents(vendor, simulated, nowMs)
      await receiveDamaged(simulated)
      await simulated.drain()
      const ids = [...vendor.indexes].flatMap(([id, index]) => (index < NAMELESS ? [idOf(id)] : []))
      await simulated.sync({ mode: 'selected', ids: [[agentId, [...ids, 'nobody']]] })
      await publishTo(...config.targets, config.serve.target)
      const before = await everyColumn(simulated.rows)
      await simulated.close()
      await leaveBehind(home)
      await leaveOpenSegment(simulated)

      expect((await canariesIn(join(home, 'published'))).length).toBeGreaterThan(500)
      const kept = await filesOf(home, false)
      const about = Object.keys(await filesOf(home, true))
      for (const kind of PLANTED)
        expect(
          about.filter(name => kind.test(name)),
          `${kind}`,
        ).not.toEqual([])
      const control = isDeep ? await copyOf(home) : ''

      const { open, places } = await command(file, 'forget', '--email', EMAIL, '--yes')
      expect({ open, conversations: places.conversations }).toEqual({
        open: [],
        conversations: vendor.indexes.size - 1,
      })
      expect(await tracesIn(home)).toEqual([])
      const now = await filesOf(home, false)
      expect(Object.entries(kept).filter(([name, hash]) => now[name] !== hash)).toEqual([])

      const after = await tablesAt(config)
      const lost = differing(withoutPerson(before), after)
      const types = lost.webhook_events?.map(row => JSON.parse(row).type).sort()
      expect(types).toEqual(NAMELESS_EVENTS)
      expect(
        Object.keys({ ...lost, ...differing(after, before) })
          .filter(table => table !== 'webhook_events')
          .sort(),
      ).toEqual(ABOUT_FILES)
      if (isDeep) {
        await replay({ config })
        expect(differing(await tablesAt(config), after)).toEqual({})
      }

      simulated.advance(DAY)
      const again = { at: sandbox, settings, through: async () => vendor.url }
      /** Returns the export requests of some work on a data folder, without times, which go on. Windows are read side by side. */
      const requestsOf = async (data: string, work: (app: SimulatedApp) => Promise<unknown>) => {
        const first = (await simulated.served()).length
        const opened = await openSimulatedApp({ ...again, home: data })
        await work(opened.simulated).finally(opened.end)
        const served = (await simulated.served()).slice(first)
        return served.map(({ path, query }) => JSON.stringify([path, query.limit, query.sort])).sort()
      }
      if (isDeep) {
        const asked = await requestsOf(control, app => app.sync())
        expect(await requestsOf(home, app => app.sync())).toEqual(asked)
      }
      const made = await requestsOf(home, async app => {
        await sendEvents(vendor, app, nowMs + DAY)
        const again = payloadsAbout({ agentId, id, nowMs: nowMs + HOUR })
        await receiveEvents({ home, workspaceId: WORKSPACE, nowMs }, again)
        await app.drain()
        expect(await app.sync({ mode: 'full' })).toMatchObject({ outcome: 'done', failures: [] })
        const rows = rowsHere(app.app.warehouse.instance, { timeoutMs: MINUTE })
        for (const check of isDeep ? await warehouseChecks() : [])
          expect(await runCheck(rows, check), check.name).toMatchObject({ outcome: 'passed' })
      })
      expect(made.length).toBeGreaterThan(4)
      expect(await tracesIn(home)).toEqual([])
    } finally {
      await end()
    }
  })

  it.runIf(isDeep)(
    'returns with a full export once the erasure is lifted; the address of a colleague erases no conversation',
    async () => {
      const colleague = 'colleague@example.org'
      const { simulated, end } = await openSimulatedApp({
        sandbox: { agents: 1, conversations: 12 },
        through: ({ url, world }) => {
          const [first] = world.conversations(world.agentIds()[0]!, START_MS)
          const change = (record: Document) => ({
            ...{ ...record, resolvedByEmail: colleague, assignedTo: { email: colleague } },
            ...(record.ID === first!.id && { userEmail: EMAIL }),
          })
          return observingProxy(url, ({ pathname }) =>
            pathname.includes('export') ? body => ({ ...body, data: body.data.map(change) }) : undefined,
          )
        },
      })
      try {
        const { home } = simulated.config
        const counts = async () => {
          const [row] = await simulated.rows<{ all: number; own: number }>(
            `SELECT count(*)::INT AS "all", count(*) FILTER (user_email = '${EMAIL}')::INT AS own FROM conversations`,
          )
          return row!
        }
        const forget = async (email: string) => {
          const found = { workspaceIds: [WORKSPACE], requests: [{ email }], countries: [] }
          const people = await findPeople(withParams(simulated.rows), found)
          const erasure = await remember(home, people, simulated.clock.now())
          await simulated.replay()
          return erasure
        }
        await simulated.sync()
        const { all } = await counts()
        await forget(colleague)
        expect(await counts()).toEqual({ all, own: 1 })
        const erasure = await forget(EMAIL)
        expect(await counts()).toEqual({ all: all - 1, own: 0 })
        await simulated.sync({ mode: 'full' })
        expect(await counts()).toEqual({ all: all - 1, own: 0 })
        await recordStep(home, { erasure, atMs: simulated.clock.now(), lifted: true })
        simulated.advance(HOUR)
        await simulated.sync({ mode: 'full' })
        expect(await counts()).toEqual({ all, own: 1 })
      } finally {
        await end()
      }
    },
  )
})
