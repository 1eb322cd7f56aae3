// Tests the promises of every target: `npm test` runs these cases for the snapshot and Parquet files, `npm run test:bi` for PostgreSQL, lakes and S3.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TargetConfig } from '../../src/config/targets.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import { openTarget } from '../../src/publish/target-client.ts'
import { consumers, registerConsumer } from '../../src/warehouse/changes/consumers.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { isDeep, rounds } from '../tier.ts'
import { until } from '../until.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import { AGENT, freshWindow, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import type { TemporaryWarehouse, Workspace } from '../warehouse/temporary-warehouse.ts'
import { killedBefore, type Step } from './patched-target.ts'
import { ENTRY, KEEP, publishTo, SETTINGS } from './published.ts'
import { whileLoading } from './while-loading.ts'

const ONE_STATE_ROUNDS = rounds('ONE_STATE_RUNS', { usual: 1, deep: 50 })

/** An agent whose rows a row filter excludes. */
const OTHER = `another of ${AGENT}`

export interface TargetContract<Target extends TargetConfig> {
  app: TemporaryWarehouse
  /** Returns a target that no other test uses. */
  newTarget(): Target
  /** Returns the folder of DuckDB's extensions; by default no extension is needed. */
  extensions?(): string
  /** Returns the rows of a SELECT with the columns `what` and the condition `where`, as a reader gets them. */
  rows(target: Target, table: string, query: { what: string; where: string }): Promise<unknown[][]>
  /** True if a file of the target, or of its server, contains the text. */
  hasText(target: Target, text: string): Promise<boolean>
  /** Puts an object of another owner into the place of a new target. @returns a function that reads it, for comparison */
  occupy(target: Target): Promise<() => Promise<unknown>>
  /** Kind of the publication that erases. */
  erases: PublicationReport['kind']
  /** True if the test of a second data folder runs; default: true. */
  changesOwner?: boolean
  /** True if a second publication is refused while one runs; false if it fails at its commit. */
  isLocked: boolean
  /** Steps of a delta before which the process is killed, in order, and the state that readers then see. */
  kills: readonly (Step & { state: 'old' | 'new' })[]
}

/** Declares the cases; each continues with the target of the previous one. */
export function describeTarget<Target extends TargetConfig>(contract: TargetContract<Target>): void {
  const { app, newTarget, hasText } = contract
  const settings = () => ({ ...SETTINGS, extensions: contract.extensions?.() ?? null })
  const publish = (target: TargetConfig, options = {}, of: TemporaryWarehouse = app) =>
    publishTo(of, target, { settings: settings(), ...options })
  /** Returns the report or the error of a publication. A server may not have noticed yet that a killed process has gone. */
  const unlocked = (work: () => Promise<unknown>) =>
    until(() => work().catch(error => error.code !== 'TARGET_LOCKED' && error))
  let place: Workspace
  let minute = 0
  const load = async (...records: object[]) => {
    minute += 1
    await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))
  }
  const rows = async (target: Target, table: string, what: string) => {
    const found = await contract.rows(target, table, { what, where: `workspace_id = '${place.id}'` })
    return found.sort((a, b) => (String(a) < String(b) ? -1 : 1))
  }
  const people = (target: Target) => rows(target, 'conversations', 'conversation_id, user_name')

  beforeAll(async () => {
    place = app.workspace()
    // The log is kept for the slowest consumer, so that every target can be brought up to date.
    await registerConsumer(app.warehouse.writer, 'slow')
    const erased = { ID: 'e', userName: 'vergissmeinnicht' }
    await load({ ID: 'a', userName: 'Ann', tags: ['x', 'y'] }, { ID: 'b', userName: 'Bob' }, erased)
    const others = { records: [{ ID: 'o', userName: 'Otto' }], window: freshWindow({ agentId: OTHER }) }
    await place.load(await landConversations(place.landing, others))
  })

  describe('by the contract of targets it', { timeout: 600_000 }, () => {
    let target: Target

    it('is filled, then receives changed records with their child tables and marts', async () => {
      target = newTarget()
      expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
      await load({ ID: 'b', userName: 'Bea', tags: ['z'] }, { ID: 'c', userName: 'Cy' })
      await applyTo(place, eventOf('lead_captured', { agentId: AGENT, leadName: 'Lea', createdAt: SENT_AT_MS }))
      const report = await publish(target, { verify: true })
      expect(report).toMatchObject({ kind: 'delta', reason: null })
      expect(report.verified).toBeGreaterThan(50)
      expect(await people(target)).toEqual([
        ['a', 'Ann'],
        ['b', 'Bea'],
        ['c', 'Cy'],
        ['e', 'vergissmeinnicht'],
        ['o', 'Otto'],
      ])
      expect((await rows(target, 'conversation_tags', 'tag')).flat()).toEqual(['x', 'y', 'z'])
      expect((await rows(target, 'marts.fct_conversations', 'conversation_id')).flat()).toEqual([...'abceo'])
      expect((await rows(target, 'leads', 'lead_name')).flat()).toEqual(['Lea'])
      const all = await consumers(app.warehouse.writer)
      expect(all.find(({ name }) => name === `target/${target.name}`)).toMatchObject({ behind: 0 })
    })

    it('has tables and marts of one state at every watermark, while conversations are loaded', async () => {
      const busy = app.workspace()
      const count = (table: string) =>
        contract.rows(target, table, { what: 'count(*)::INT', where: `workspace_id = '${busy.id}'` })
      await whileLoading(busy, async () => {
        for (let round = 0; round < ONE_STATE_ROUNDS; round++) {
          await publish(target)
          const conversations = await count('conversations')
          expect(conversations).not.toEqual([[0]])
          expect(await count('marts.fct_conversations')).toEqual(conversations)
        }
      })
    })

    it('shows the old or the new state after kills at all steps, and the next publication completes it', async () => {
      const nothing = { kind: 'current', rows: 0 }
      const names = { old: 'Ann', new: 'Ann' }
      for (const [index, { state, ...step }] of contract.kills.entries()) {
        const at = `${step.step} ${step.count ?? 1}`
        if (names.old === names.new) {
          names.new = `new ${index}`
          await load({ ID: 'a', userName: names.new })
        }
        const entry = await killedBefore(app.home, step)
        const failed = { code: 'PUBLICATION_FAILED', message: expect.stringContaining('SIGKILL') }
        expect(await unlocked(() => publish(target, { entry })), at).toMatchObject(failed)
        expect((await people(target))[0], at).toEqual(['a', names[state]])
        if (state === 'old') continue
        expect(await unlocked(() => publish(target, { verify: true })), at).toMatchObject(nothing)
        names.old = names.new
      }
    })

    describe('with two publications at a time', () => {
      const open = () => {
        const limits = { memoryLimit: '256MB', threads: 1, spillFolder: join(app.home, 'spill') }
        const extensions = { folder: settings().extensions, cache: join(app.home, 'extensions') }
        return openTarget({ target, extensions, ...limits }, { signal: new AbortController().signal, entry: ENTRY })
      }
      let late: Awaited<ReturnType<typeof open>>
      afterAll(() => late?.close())

      it('keeps the first: the second is refused, or fails when it commits', async () => {
        late = await open()
        const base = late.watermark!
        if (contract.isLocked) {
          await expect(publish(target)).rejects.toMatchObject({ code: 'TARGET_LOCKED' })
        } else {
          await load({ ID: 'a', userName: 'Amy' })
          await publish(target)
        }
        const stale = contract.isLocked ? { ...base, publicationId: 'another' } : base
        const head = {
          kind: 'delta',
          base: stale,
          watermark: { ...base, publicationId: 'late' },
          erases: false,
        } as const
        await expect(late.apply(head).complete()).rejects.toMatchObject({ code: 'TARGET_CHANGED' })
        await late.close()
        if (isDeep) expect((await publish(target)).kind).toBe('current')
      })
    })

    it('has nothing of erased records, and nothing that narrower settings of rows or personal data exclude', async () => {
      expect(await hasText(target, 'vergissmeinnicht')).toBe(true)
      const records = [{ table: 'conversations', key: [AGENT, 'e'] }]
      await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
      expect(await publish(target)).toMatchObject({ kind: contract.erases })
      expect(await hasText(target, 'vergissmeinnicht')).toBe(false)
      expect((await people(target)).map(([id]) => id)).toEqual(['a', 'b', 'c', 'o'])
      expect(await hasText(target, 'Otto')).toBe(true)
      const rows = { workspaces: [place.id], agents: [AGENT], organizations: [] }
      const narrow = { ...target, rows, pii: { ...KEEP, identity: 'drop' as const } }
      expect(await publish(narrow, { verify: true })).toMatchObject({ kind: 'refill', reason: 'other policy' })
      expect(await people(target)).toEqual(['a', 'b', 'c'].map(id => [id, null]))
      for (const text of ['Otto', 'Bea']) expect(await hasText(target, text), text).toBe(false)
    })

    it('touches nothing that another owner has put there', async () => {
      const occupied = newTarget()
      const content = await contract.occupy(occupied)
      const before = await content()
      for (const refill of isDeep ? [false, true] : [true])
        await expect(publish(occupied, { refill })).rejects.toMatchObject({ code: 'TARGET_UNUSABLE' })
      expect(await content()).toEqual(before)
    })

    it.runIf(contract.changesOwner ?? true)(
      'is refused to another data folder, until it is asked to take the target over',
      async () => {
        const other = { ...app, home: join(app.home, 'other') }
        const refused = { code: 'TARGET_UNUSABLE', message: expect.stringMatching(/ of another data folder\.$/) }
        await expect(publish(target, {}, other)).rejects.toMatchObject(refused)
        expect(await publish(target, { refill: true }, other)).toMatchObject({ reason: 'requested' })
        if (isDeep) await expect(publish(target)).rejects.toMatchObject(refused)
      },
    )
  })
}
