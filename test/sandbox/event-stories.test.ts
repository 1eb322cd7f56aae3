import { describe, expect, it } from 'vitest'
import { createWorld } from '../../src/sandbox/world/world.ts'
import { DAY, START_MS } from './caller.ts'

const MINUTE = 60_000
const options = { startMs: START_MS, conversations: 300, historyDays: 5, agents: 2, seed: 3 }
const lively = createWorld({ ...options, traffic: true })
const indices = [...Array(300).keys()]

type Document = Record<string, unknown> & {
  lastModified: number
  csat?: { submittedAt: number } | null
  crmActivities?: { id: string; notesHistory?: { timestamp: string }[] }[] | null
  handoffHistory?:
    | { requestedAt: number; acceptedAt: number | null; completedAt?: number; acceptedBy?: string }[]
    | null
}

const documentAt = (world: typeof lively, index: number, nowMs: number) =>
  JSON.parse(world.render(index, nowMs)) as Document
const late = indices.map(index => documentAt(lively, index, START_MS + 80 * DAY))

const followUps = (record: Document) =>
  (record.crmActivities ?? []).filter(({ id }) => id.endsWith('_follow_up')).flatMap(one => one.notesHistory ?? [])

describe('a conversation with a story', () => {
  it('is rated after a session in about three of ten cases, and not before', () => {
    const rated = late.flatMap((record, index) => (record.csat ? [{ index, atMs: record.csat.submittedAt }] : []))
    expect([rated.length > 60, rated.length < 120]).toEqual([true, true])
    for (const { index, atMs } of rated) {
      expect(documentAt(lively, index, atMs - 1).csat).toBeUndefined()
      expect(documentAt(lively, index, atMs)).toMatchObject({ csat: { submittedAt: atMs }, lastModified: atMs })
    }
  })

  it('gets notes days after its last message', () => {
    const noted = late.flatMap(record =>
      followUps(record).map(({ timestamp }) => ({ record, atMs: Date.parse(timestamp) })),
    )
    expect(noted.length).toBeGreaterThan(75)
    const days = noted.map(({ record, atMs }) => (atMs - Number(record.lastMessageTS)) / DAY)
    expect(days.filter(count => count > 2).length).toBeGreaterThan(25)
    expect(Math.min(...days)).toBeGreaterThan(0)
  })

  it('shows when a handoff is requested, accepted and completed', () => {
    const handed = indices.flatMap(index =>
      (late[index]!.handoffHistory ?? []).flatMap(handoff => (handoff.acceptedAt === null ? [] : [{ index, handoff }])),
    )
    expect(handed.length).toBeGreaterThan(30)
    for (const { index, handoff } of handed) {
      const { requestedAt, acceptedAt, completedAt, acceptedBy } = handoff
      const at = (nowMs: number) => {
        const record = documentAt(lively, index, nowMs)
        return { ...record, handoff: record.handoffHistory!.find(one => one.requestedAt === requestedAt) }
      }
      expect(at(requestedAt - 1).handoff).toBeUndefined()
      if (acceptedAt! > requestedAt) expect(at(requestedAt).handoff).toMatchObject({ acceptedAt: null })
      if (completedAt! > acceptedAt!) {
        expect(at(acceptedAt!)).toMatchObject({ state: 'human-chatting', chatAssignedTo: acceptedBy })
      }
      expect(at(completedAt!).handoff).toEqual(handoff)
    }
  })

  it('is persisted in the middle of a session: its counters grow before the session ends', () => {
    const counts = indices.flatMap(index => {
      const [session] = late[index]!.sessions as { startedAt: number; endedAt: number; messagesNum: number }[]
      const { startedAt, endedAt } = session!
      const at = (share: number) =>
        Number(documentAt(lively, index, Math.floor(startedAt + (endedAt - startedAt) * share)).messagesNum)
      return [[at(0), at(0.6), at(1)]]
    })
    expect(counts.every(([start, middle, end]) => start! <= middle! && middle! <= end!)).toBe(true)
    expect(counts.filter(([start, middle, end]) => start! < middle! && middle! < end!).length).toBeGreaterThan(150)
  })

  it('has another state key exactly when its record differs, and contains no time in the future', () => {
    for (const index of indices.slice(0, 60)) {
      let before: { key: number; text: string } | undefined
      for (let nowMs = START_MS; nowMs < START_MS + 20 * DAY; nowMs += 11 * 60 * MINUTE) {
        const seen = { key: lively.stateKey(index, nowMs), text: lively.render(index, nowMs) }
        if (before) expect(seen.key === before.key, `${index} at ${nowMs}`).toBe(seen.text === before.text)
        expect((JSON.parse(seen.text) as Document).lastModified).toBeLessThanOrEqual(nowMs)
        before = seen
      }
    }
  })

  it('bills the same sessions as without one, and is paged in the same order', () => {
    for (const ts of ['created', 'activity'] as const) {
      const [plain, other] = [false, true].map(traffic => {
        const world = createWorld({ ...options, ts, traffic })
        const nowMs = START_MS + 3 * DAY
        const walk = { sort: 'asc' as const, fromMs: 0, toMs: nowMs, after: undefined }
        return world.agentIds().map(id => ({
          tally: world.tally(id, nowMs),
          order: [...world.walk(id, walk, nowMs)].map(({ ts: atMs, index }) => [
            atMs,
            documentAt(world, index, nowMs).ts ?? 0,
          ]),
        }))
      })
      expect(other).toEqual(plain)
      for (const { order } of other!) expect(order.every(([atMs, stamp]) => atMs === stamp)).toBe(true)
    }
  })
})
