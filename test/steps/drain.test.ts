import { appendFile, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { remember } from '../../src/landing/tombstones.ts'
import { eventId } from '../../src/receiver/parse-event.ts'
import { eventsStatus } from '../../src/reports/events.ts'
import { archiveSegments } from '../../src/spool/archive.ts'
import { readDrainFailure } from '../../src/spool/drain-failure.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { archivedEvent } from '../../src/spool/read-archive.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { spoolWaiting } from '../../src/spool/waiting.ts'
import { applySpool, type DrainContext, retryAfterMs, spoolSteps } from '../../src/steps/events/drain.ts'
import { flipped } from '../landing/flipped.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'
import { AGENT } from '../warehouse/landed-pages.ts'
import { LOADED_AT_MS, temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'

const app = temporaryWarehouse()

it('a failed drain is retried after a second, then at doubling intervals of up to a minute', () => {
  const attempts = [1, 2, 3, 6, 7, 1_000_000]
  expect(attempts.map(retryAfterMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000])
})

const drainContextOf = ({ context }: Workspace, nowMs = LOADED_AT_MS): DrainContext => ({
  ...context,
  home: app.home,
  now: () => nowMs,
})

/** Drains once, as a newly started process does. */
const drain = (workspace: Workspace, nowMs?: number) =>
  spoolSteps(drainContextOf(workspace, nowMs)).drain({ workspaceId: workspace.id })

/** Receives messages as one segment. */
async function receive(workspace: Workspace, ...texts: string[]): Promise<void> {
  const spool = openSpool({ home: app.home, now: () => LOADED_AT_MS })
  await Promise.all(
    texts.map(text => {
      const payload = Buffer.from(
        JSON.stringify({ agentId: AGENT, convoId: 'c1', createdAt: LOADED_AT_MS, messageContent: text }),
      )
      const type = 'message_received'
      const id = eventId({ type, createdAt: LOADED_AT_MS, payload })
      return spool.append({ id, type, payload, workspaceId: workspace.id, receivedAtMs: LOADED_AT_MS })
    }),
  )
  await spool.close()
}

const messages = async (workspace: Workspace): Promise<unknown[]> =>
  (await workspace.rows('messages_received', 'message_content')).map(row => row.message_content)

/** Returns the messages in the payloads at the addresses that the tables hold. */
async function payloads(workspace: Workspace): Promise<unknown[]> {
  const rows = await workspace.rows('webhook_events', 'event_id, payload_file AS file, payload_offset AS at')
  const events = await Promise.all(
    rows.map(async ({ event_id, file, at }) => {
      const event = await archivedEvent(app.home, { file: String(file), offset: Number(at) })
      expect(event.id).toBe(event_id)
      return (JSON.parse(Buffer.from(event.payload).toString()) as { messageContent: string }).messageContent
    }),
  )
  return events.sort()
}

const archived = async ({ id }: Workspace): Promise<string[]> =>
  readdir(spoolFolders(app.home, id).drained).catch(() => [])

describe('draining', () => {
  it('applies no event twice that a kill left both applied and sealed', async () => {
    const workspace = app.workspace()
    await receive(workspace, 'one')
    const { sealed } = spoolFolders(app.home, workspace.id)
    const [name] = await readdir(sealed)
    const bytes = await readFile(join(sealed, name!))
    await drain(workspace)
    await appendFile(join(sealed, name!), bytes)
    expect(await drain(workspace)).toEqual({ events: 0, taken: 1, waiting: 0 })
    expect(await messages(workspace)).toEqual(['one'])
  })

  it('counts the events that it has taken, and the new ones among them', async () => {
    const workspace = app.workspace()
    const steps = spoolSteps(drainContextOf(workspace))
    await receive(workspace, 'one', 'two')
    await steps.drain({ workspaceId: workspace.id })
    await receive(workspace, 'two', 'three')
    await steps.drain({ workspaceId: workspace.id })
    expect(steps.counts()).toEqual({ taken: 4, applied: 3 })
  })

  it('reports damaged lines once, keeps their bytes, and applies the others', async () => {
    const workspace = app.workspace()
    const { id } = workspace
    await receive(workspace, 'one', 'secret words', 'three')
    const { sealed } = spoolFolders(app.home, id)
    const [name] = await readdir(sealed)
    const bytes = await readFile(join(sealed, name!))
    const damaged = flipped(bytes, 8 * bytes.indexOf('secret words'))
    // The last line is also damaged. It must count as damage, because a kill cannot truncate a sealed segment.
    await writeFile(join(sealed, name!), flipped(damaged, 8 * (bytes.length - 10)))
    for (const steps of [1, 2].map(() => spoolSteps(drainContextOf(workspace))))
      for (let times = 0; times < 2; times++) await steps.drain({ workspaceId: id })
    expect(await messages(workspace)).toEqual(['one'])
    const issues = await workspace.rows('_issues')
    expect(issues).toMatchObject([
      {
        record: 'webhook_event',
        path: name,
        issue: 'damaged in the spool',
        occurrences: '2',
        example_file: `${id}/sealed/${name}.damaged`,
      },
    ])
    expect(Object.values(issues[0]!).join()).not.toMatch(/secret|words/)
    expect(await readFile(join(sealed, `${name}.damaged`))).toHaveLength(bytes.length)
    const { rows } = app.warehouse.writer
    const of = { home: app.home, workspaceId: id, rows, here: `workspace_id = '${id}'`, nowMs: LOADED_AT_MS }
    expect(await eventsStatus(of)).toMatchObject({ received: 1, damaged: 2 })
    expect((await spoolWaiting(app.home, id)).events).toBe(0)
    await app.warehouse.writer.run(`DELETE FROM _issues WHERE workspace_id = '${id}'`)
    expect(await applySpool(drainContextOf(workspace))).toEqual({ applied: 0, damaged: [] })
    expect(await workspace.rows('_issues')).toEqual(issues)
  })

  it('is not blocked by an unreadable segment, which is reported, retried, and applied once it can be read', async () => {
    const workspace = app.workspace()
    const { id } = workspace
    let nowMs = LOADED_AT_MS
    const steps = spoolSteps({ ...drainContextOf(workspace), now: () => nowMs })
    await receive(workspace, 'one')
    const { sealed } = spoolFolders(app.home, id)
    const [name] = await readdir(sealed)
    await rename(join(sealed, name!), join(sealed, 'elsewhere'))
    await mkdir(join(sealed, name!))
    await receive(workspace, 'two')
    await steps.drain({ workspaceId: id })
    expect(steps.failing()).toMatchObject({ code: 'HOME_UNUSABLE', what: expect.stringContaining(name!), attempts: 1 })
    expect(await readDrainFailure(app.home, id)).toEqual(steps.failing())
    // Before the retry time, a drain does not try that segment again, because it does not poll a failing disk.
    await receive(workspace, 'three')
    await steps.drain({ workspaceId: id })
    expect(steps.failing()).toMatchObject({ attempts: 1, sinceMs: LOADED_AT_MS })
    expect(await messages(workspace)).toEqual(['three', 'two'])
    nowMs += retryAfterMs(1)
    await steps.drain({ workspaceId: id })
    expect(steps.failing()).toMatchObject({ attempts: 2, sinceMs: LOADED_AT_MS, nextMs: nowMs + retryAfterMs(2) })
    await rmdir(join(sealed, name!))
    await rename(join(sealed, 'elsewhere'), join(sealed, name!))
    nowMs += retryAfterMs(2)
    await steps.drain({ workspaceId: id })
    expect([steps.failing(), await readDrainFailure(app.home, id)]).toEqual([null, null])
    expect(await messages(workspace)).toEqual(['one', 'three', 'two'])
  })

  it('applies nothing while nothing can be archived, and archives each event once as soon as it can', async () => {
    const workspace = app.workspace()
    const { id } = workspace
    let nowMs = LOADED_AT_MS
    const steps = spoolSteps({ ...drainContextOf(workspace), now: () => nowMs })
    const { drained, sealed } = spoolFolders(app.home, id)
    await receive(workspace, 'one')
    await writeFile(drained, '')
    for (const text of ['two', 'three']) {
      await expect(steps.drain({ workspaceId: id })).rejects.toThrow('Cannot use')
      expect(await messages(workspace)).toEqual([])
      expect(steps.failing()).toMatchObject({ code: 'HOME_UNUSABLE', what: expect.stringContaining(drained) })
      await receive(workspace, text)
      nowMs += retryAfterMs(9)
    }
    await rm(drained)
    await steps.drain({ workspaceId: id })
    expect([steps.failing(), await readdir(sealed)]).toEqual([null, []])
    expect(await messages(workspace)).toEqual(['one', 'three', 'two'])
    const lines = await readFile(join(drained, '2026-11-20.ndjson'), 'utf8')
    expect(lines.match(/messageContent":"\w+/g)).toHaveLength(3)
  })

  it('archives no segment again that a killed process had archived, applied or not', async () => {
    for (const isApplied of [false, true]) {
      const workspace = app.workspace()
      const { drained, sealed } = spoolFolders(app.home, workspace.id)
      await receive(workspace, 'zero')
      await drain(workspace)
      await receive(workspace, 'one', 'two')
      await receive(workspace, 'three')
      const left = await Promise.all(
        (await readdir(sealed)).map(async name => ({ name, bytes: await readFile(join(sealed, name)) })),
      )
      const segments = left
        .sort((a, b) => a.name.localeCompare(b.name))
        .map(({ name, bytes }) => ({
          segment: join(sealed, name),
          bytes,
        }))
      await archiveSegments(app.home, workspace.id, { segments, nowMs: LOADED_AT_MS })
      const archive = join(drained, '2026-11-20.ndjson')
      const before = await readFile(archive, 'utf8')
      if (isApplied) {
        await drain(workspace)
        for (const { segment, bytes } of segments) await writeFile(segment, bytes)
      }
      expect(await drain(workspace)).toEqual({ events: isApplied ? 0 : 3, taken: 3, waiting: 0 })
      expect(await messages(workspace)).toEqual(['one', 'three', 'two', 'zero'])
      expect(await readFile(archive, 'utf8')).toBe(before)
      expect(await readdir(sealed)).toEqual([])
      expect(await payloads(workspace)).toEqual(['one', 'three', 'two', 'zero'])
    }
  })

  it('is retried at once by a new process, whose success clears the failure that the previous one recorded', async () => {
    const workspace = app.workspace()
    const { id } = workspace
    await receive(workspace, 'one')
    const { drained } = spoolFolders(app.home, id)
    await writeFile(drained, '')
    await drain(workspace).catch(() => {})
    expect(await readDrainFailure(app.home, id)).not.toBe(null)
    await rm(drained)
    await drain(workspace)
    expect(await readDrainFailure(app.home, id)).toBe(null)
  })

  it('compresses a finished day, and starts a new line after one that a kill truncated', async () => {
    const workspace = app.workspace()
    await receive(workspace, 'one')
    await drain(workspace)
    const { drained } = spoolFolders(app.home, workspace.id)
    await appendFile(join(drained, '2026-11-20.ndjson'), '{"crc":"0000')
    await receive(workspace, 'two')
    await drain(workspace)
    await receive(workspace, 'three')
    await drain(workspace, LOADED_AT_MS + DAY)
    expect((await archived(workspace)).sort()).toEqual(['2026-11-20.ndjson.gz', '2026-11-21.ndjson'])
    expect(await payloads(workspace)).toEqual(['one', 'three', 'two'])
    await app.warehouse.writer.run(`DELETE FROM webhook_events WHERE workspace_id = '${workspace.id}'`)
    await app.warehouse.writer.run(`DELETE FROM messages_received WHERE workspace_id = '${workspace.id}'`)
    expect(await applySpool(drainContextOf(workspace))).toEqual({ applied: 3, damaged: [] })
    expect(await messages(workspace)).toEqual(['one', 'three', 'two'])
    expect(await payloads(workspace)).toEqual(['one', 'three', 'two'])
  })

  it('adds no line to a day that is compressed, even if the clock was set back, and keeps the addresses of both files', async () => {
    const workspace = app.workspace()
    for (const [text, nowMs] of [
      ['one', LOADED_AT_MS],
      ['two', LOADED_AT_MS + DAY],
      ['three', LOADED_AT_MS],
      ['four', LOADED_AT_MS + DAY],
    ] as const) {
      await receive(workspace, text)
      await drain(workspace, nowMs)
    }
    const names = ['2026-11-20.1.ndjson.gz', '2026-11-20.ndjson.gz', '2026-11-21.ndjson']
    expect((await archived(workspace)).sort()).toEqual(names)
    expect(await payloads(workspace)).toEqual(['four', 'one', 'three', 'two'])
  })
})

describe('draining events of forgotten people', () => {
  /** Receives a payload as one segment. */
  const receiveOf = (workspace: Workspace, ...payloads: Record<string, unknown>[]) =>
    receiveEvents(
      { home: app.home, workspaceId: workspace.id, nowMs: LOADED_AT_MS },
      payloads.map(payload => ({ event: 'message_received', agentId: AGENT, createdAt: LOADED_AT_MS, ...payload })),
    )
  const bytesOf = async (workspace: Workspace): Promise<string> => {
    const { drained, sealed } = spoolFolders(app.home, workspace.id)
    const files = await Promise.all(
      [drained, sealed].map(async folder => (await readdir(folder).catch(() => [])).map(name => join(folder, name))),
    )
    return (await Promise.all(files.flat().map(file => readFile(file, 'utf8')))).join('')
  }

  it('drops them before they are archived, and applies all others', async () => {
    const workspace = app.workspace()
    const conversations = [{ workspaceId: workspace.id, agentId: AGENT, id: 'c-jane' }]
    await remember(app.home, { identifiers: ['user:jane-17'], conversations, countries: [] }, LOADED_AT_MS)
    await receiveOf(
      workspace,
      { convoId: 'c1', messageContent: 'one' },
      { convoId: 'c-jane', messageContent: 'by its conversation' },
      { convoId: 'c2', messageContent: 'by its author', from: 'jane-17' },
      { convoId: 'c3', messageContent: 'two' },
    )
    expect(await drain(workspace)).toEqual({ events: 2, taken: 2, waiting: 0 })
    expect(await messages(workspace)).toEqual(['one', 'two'])
    expect(await payloads(workspace)).toEqual(['one', 'two'])
    expect(await bytesOf(workspace)).not.toMatch(/jane|by its/)
    // A conversation that the person has begun stays away, also in events that name nobody.
    await receiveOf(workspace, { convoId: 'c2', messageContent: 'by the conversation that was begun' })
    expect(await drain(workspace)).toMatchObject({ events: 0, waiting: 0 })
    expect(await messages(workspace)).toEqual(['one', 'two'])
    expect(await bytesOf(workspace)).not.toContain('by ')
    await app.warehouse.writer.run(`DELETE FROM webhook_events WHERE workspace_id = '${workspace.id}'`)
    await app.warehouse.writer.run(`DELETE FROM messages_received WHERE workspace_id = '${workspace.id}'`)
    expect(await applySpool(drainContextOf(workspace))).toEqual({ applied: 2, damaged: [] })
  })
})
