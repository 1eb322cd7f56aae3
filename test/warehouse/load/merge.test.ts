import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../../src/core/time.ts'
import { rounds } from '../../tier.ts'
import { landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { MIRROR_LAG_MS, temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** One conversation in the version of one page. */
interface Version {
  id: string
  page: number
  /** `lastModified`, seconds; null: the record has none. */
  modified: number | null
}

const MODIFIED = 1_763_600_000

const sentAt = (page: number): number => SENT_AT_MS + page * MINUTE

const labelOf = (version: Version): string => `page ${version.page}`

/** A record whose row, children and extra fields identify its version. */
const recordOf = (version: Version) => ({
  ID: version.id,
  state: labelOf(version),
  // Some versions have fewer children than others, so that a leftover child row is detected.
  tags: Array.from({ length: version.page % 3 }, (_, index) => `${labelOf(version)} ${index}`),
  unheard: { of: version.page },
  ...(version.modified !== null && { lastModified: version.modified }),
})

/** The rule: the last changed version wins; of versions with equal or no change time, the last fetched one. */
const newest = (versions: Version[]): Version =>
  versions.reduce((best, version) => {
    const later = (version.modified ?? 0) - (best.modified ?? 0)
    return later > 0 || (later === 0 && version.page > best.page) ? version : best
  })

const versionsBy = (modified: fc.Arbitrary<number | null>): fc.Arbitrary<Version[]> =>
  fc.uniqueArray(fc.record({ id: fc.nat(20).map(n => `c${n}`), page: fc.nat(3), modified }), {
    selector: version => `${version.id} ${version.page}`,
    minLength: 30,
    maxLength: 60,
  })

/** An order of the four pages in which each occurs at least once, and some repeatedly. */
const orders = fc
  .tuple(fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }), fc.array(fc.nat(3), { maxLength: 2 }))
  .map(([once, again]) => [...once, ...again])

async function loadInOrder(workspace: Workspace, versions: Version[], order: number[]): Promise<void> {
  const pages = new Map<number, Awaited<ReturnType<typeof landConversations>>>()
  for (const page of new Set(order)) {
    const records = versions.filter(version => version.page === page).map(recordOf)
    pages.set(page, await landConversations(workspace.landing, { records, sentAtMs: sentAt(page) }))
  }
  // The first two pages in one batch: other code compares the versions of one batch than those of two.
  await workspace.load(pages.get(order[0]!)!, pages.get(order[1]!)!)
  for (const page of order.slice(2)) await workspace.load(pages.get(page)!)
}

function expectedRows(versions: Version[]) {
  const ids = [...new Set(versions.map(version => version.id))].sort()
  return ids.map(id => {
    const winner = newest(versions.filter(version => version.id === id))
    const { tags, unheard } = recordOf(winner)
    return { conversation_id: id, state: labelOf(winner), extra: JSON.stringify({ unheard }), tags }
  })
}

async function convergedRows(workspace: Workspace) {
  const tags = await workspace.rows('conversation_tags', 'conversation_id, position, tag')
  const rows = await workspace.rows('conversations', 'conversation_id, state, extra')
  return rows.map(row => ({
    ...row,
    tags: tags.filter(tag => tag.conversation_id === row.conversation_id).map(tag => tag.tag),
  }))
}

async function converges(modified: fc.Arbitrary<number | null>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(versionsBy(modified), orders, async (versions, order) => {
      const workspace = app.workspace()
      await loadInOrder(workspace, versions, order)
      expect(await convergedRows(workspace)).toEqual(expectedRows(versions))
    }),
    // A run has about twenty conversations, each with a different kind of order.
    { numRuns: rounds('FAULT_RUNS', { usual: 1, deep: 40 }), endOnFailure: true },
  )
}

describe('the versions of a conversation', () => {
  it('give the same rows in any order and any repetition if all have a change time', () =>
    converges(fc.nat(3).map(later => MODIFIED + later)))

  it('give the same rows in any order and any repetition if none has a change time', () => converges(fc.constant(null)))
})

async function loadOne(workspace: Workspace, record: object, minute = 0) {
  const sentAtMs = SENT_AT_MS + minute * MINUTE
  return workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'c', ...record }], sentAtMs }))
}

describe('a full record', () => {
  it('of an equal version wins if it was fetched later, in any order of loading', async () => {
    const workspace = app.workspace()
    const load = async (minute: number, ...ids: string[]) =>
      workspace.load(
        await landConversations(workspace.landing, {
          records: ids.map(ID => ({ ID, lastModified: MODIFIED, state: `fetched at ${minute}` })),
          sentAtMs: SENT_AT_MS + minute * MINUTE,
        }),
      )
    await load(1, 'newer first')
    await load(0, 'newer first', 'older first')
    await load(1, 'older first')
    const state = 'fetched at 1'
    expect(await workspace.rows('conversations', 'conversation_id AS id, state')).toEqual([
      { id: 'newer first', state },
      { id: 'older first', state },
    ])
  })

  it('does not affect the same conversation of another workspace', async () => {
    const [mine, yours] = [app.workspace(), app.workspace()]
    await loadOne(mine, { lastModified: MODIFIED, tags: ['mine'] })
    await loadOne(yours, { lastModified: MODIFIED + 1, tags: ['yours'] })
    expect(await mine.rows('conversation_tags', 'tag')).toEqual([{ tag: 'mine' }])
  })
})

describe('a conversation known to have changed', () => {
  const markDirty = (workspace: Workspace, atMs: number) =>
    app.warehouse.writer.run(
      `UPDATE conversations SET _dirty_since = make_timestamp(${atMs * 1_000}), _changed_at = make_timestamp(${atMs * 1_000}), _missing_since = make_timestamp(${atMs * 1_000})
       WHERE workspace_id = '${workspace.id}'`,
    )
  const changedAt = SENT_AT_MS + 10 * MINUTE

  it('stays so after a request that the mirror may have answered with an older state, but not after a later one', async () => {
    const workspace = app.workspace()
    const refetched = async (sentAtMs: number) => {
      await workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'c' }], sentAtMs }))
      return workspace.rows('conversations', '_dirty_since IS NOT NULL AS dirty, _missing_since AS missing')
    }
    await loadOne(workspace, {})
    await markDirty(workspace, changedAt)
    expect(await refetched(changedAt + MIRROR_LAG_MS)).toEqual([{ dirty: true, missing: null }])
    expect(await refetched(changedAt + MIRROR_LAG_MS + SECOND)).toEqual([{ dirty: false, missing: null }])
  })
})
