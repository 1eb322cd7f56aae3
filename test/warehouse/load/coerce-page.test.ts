import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { inflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ConvohouseError } from '../../../src/core/errors.ts'
import type { LoadablePage } from '../../../src/warehouse/load/load-input.ts'
import { temporaryFolder } from '../../../src/warehouse/temporary-files.ts'
import { flipped } from '../../landing/flipped.ts'
import { landedFile } from '../../landing/landed-file.ts'
import { recordsText } from '../corpus/cases.ts'
import { freshWindow, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { recordRows } from '../record-rows.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()
const fileOf = (page: LoadablePage) => landedFile(app.home, page.address)

const goldenRecords = (name: string): object[] => JSON.parse(recordsText(name)) as object[]

const page = (workspace: Workspace, body: string | Uint8Array) => landConversations(workspace.landing, { body })

const records = (workspace: Workspace, ...all: unknown[]) => landConversations(workspace.landing, { records: all })

describe('a record', () => {
  const NAMES = ['full-record', 'unknown-fields', 'times', 'any-typed', 'unicode']

  it('gives the same rows on the fast and on the tolerant path', async () => {
    const [fast, tolerant] = [app.workspace(), app.workspace()]
    const pages = (workspace: Workspace, ...more: null[]) =>
      Promise.all(
        NAMES.map(agentId => {
          // One record of `times` has wrong types, which would select the tolerant path for its page.
          const golden = goldenRecords(agentId).filter(record => !('ID' in record && record.ID === 'nonsense'))
          const window = freshWindow({ agentId })
          return landConversations(workspace.landing, { records: [...golden, ...more], window })
        }),
      )
    expect(await fast.load(...(await pages(fast)))).toMatchObject({ files: 5, coerced: 0 })
    // An element that is not a record selects the tolerant path for its page, and leaves no row.
    const result = await tolerant.load(...(await pages(tolerant, null)))
    expect(result).toMatchObject({ coerced: 5, quarantined: 5 })
    const rows = await recordRows(fast)
    expect(new Set(rows.conversations!.map(row => row.agent_id))).toEqual(new Set(NAMES))
    expect(await recordRows(tolerant)).toEqual(rows)
  })
})

describe('a page', () => {
  it('that was inspected with an older catalog is coerced when it is loaded, and leaves no coerced copy behind', async () => {
    const workspace = app.workspace()
    const landed = await landConversations(workspace.landing, {
      records: [{ ID: 'c1', messagesNum: 'many', title: 't' }],
      catalogVersion: 0,
    })
    const nothing = { unknown: {}, mismatched: {}, unread: [], awkward: [] }
    const stale: LoadablePage = { ...landed, head: { ...landed.head, notes: nothing } }
    expect(await workspace.load(stale)).toMatchObject({ coerced: 1, records: 1 })
    expect(await workspace.rows('conversations', 'extra')).toEqual([{ extra: '{"messagesNum":"many","title":"t"}' }])
    expect((await readdir(temporaryFolder(app.home))).filter(name => name.startsWith('coerced-'))).toEqual([])
  })
})

describe('a page with nesting around its records that would crash the process', () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`

  it.each([
    ['before the records', `{"x":${deep},"data":[{"ID":"c1","title":"t"},{"ID":"c2"}]}`],
    ['after the records', `{"data":[{"ID":"c1","title":"t"},{"ID":"c2"}],"usage":${deep}}`],
  ])('%s is loaded with every record unchanged', async (_, body) => {
    const workspace = app.workspace()
    expect(await workspace.load(await page(workspace, body))).toMatchObject({ records: 2, coerced: 1, quarantined: 0 })
    expect(await workspace.rows('conversations', 'conversation_id, extra')).toEqual([
      { conversation_id: 'c1', extra: '{"title":"t"}' },
      { conversation_id: 'c2', extra: null },
    ])
  })
})

/** Returns the contents of a gzip member, ignoring its checksum; undefined if it cannot be decompressed. */
function unpacked(member: Uint8Array): string | undefined {
  try {
    return inflateRawSync(member.subarray(10, -8)).toString('latin1')
  } catch {
    return undefined
  }
}

describe('a landed file that cannot be read', () => {
  const cutShort = async (landed: LoadablePage) => truncate(fileOf(landed), (await bytesOf(landed)).length - 40)
  const bytesOf = (landed: LoadablePage) => readFile(fileOf(landed))
  const failureOf = (promise: Promise<unknown>): Promise<ConvohouseError> =>
    promise.then(
      () => expect.fail('it was loaded'),
      (error: unknown) => (error instanceof ConvohouseError ? error : expect.fail(`not ours: ${error}`)),
    )

  it('is reported by name, and every page of another window is loaded', async () => {
    const workspace = app.workspace()
    const pages = [
      await records(workspace, { ID: 'before' }),
      await records(workspace, { ID: 'cut', summary: 'x'.repeat(500) }),
      await records(workspace, { ID: 'behind' }),
    ]
    await cutShort(pages[1]!)
    const error = await failureOf(workspace.load(...pages))
    expect(error.code).toBe('LANDING_CORRUPT')
    expect(error.message).toContain(pages[1]!.address)
    expect(error.hint).toContain('backup')
    expect(await workspace.rows('conversations', 'conversation_id')).toEqual([
      { conversation_id: 'before' },
      { conversation_id: 'behind' },
    ])
    expect(await workspace.rows('_loads', 'file')).not.toContainEqual({ file: pages[1]!.address })
  })

  it('is reported also if it is truncated exactly after its head and is still a valid gzip file', async () => {
    const workspace = app.workspace()
    const landed = await records(workspace, { ID: 'cut' })
    await truncate(fileOf(landed), (await bytesOf(landed)).length - landed.head.packed!.bytes)
    const error = await failureOf(workspace.load(landed))
    expect(error.message).toContain(landed.address)
    expect(await workspace.rows('_loads')).toEqual([])
  })

  it('because of a flipped bit is not loaded with another value', async () => {
    const workspace = app.workspace()
    const landed = await records(workspace, { ID: 'c1', summary: 'Seventeen zebras jumped quickly over my lazy box' })
    const intact = await bytesOf(landed)
    const begin = intact.length - landed.head.packed!.bytes
    const sent = unpacked(intact.subarray(begin))
    // If any of these bits is flipped, the page decompresses to the same record with another summary, which DuckDB would load.
    const unnoticed = Array.from({ length: landed.head.packed!.bytes * 8 }, (_, at) => begin * 8 + at).filter(bit => {
      const body = unpacked(flipped(intact, bit).subarray(begin))
      return body !== sent && /^{"success":true,"data":\[{"ID":"c1","summary":"[\w ]{48}"}]}$/.test(body ?? '')
    })
    expect(unnoticed.length).toBeGreaterThan(5)
    for (const bit of unnoticed.slice(0, 5)) {
      await writeFile(fileOf(landed), flipped(intact, bit))
      expect((await failureOf(workspace.load(landed))).code).toBe('LANDING_CORRUPT')
    }
    expect(await workspace.rows('conversations')).toEqual([])
    await writeFile(fileOf(landed), intact)
    expect(await workspace.load(landed)).toMatchObject({ records: 1 })
  })

  it('holds back the later pages of its window, so that no missing page counts as covered', async () => {
    const workspace = app.workspace()
    const window = freshWindow()
    const paged = (sequence: number, hasMore: boolean) =>
      landConversations(workspace.landing, {
        records: [{ ID: `c${sequence}` }],
        window,
        facts: { sequence, hasMore, cursorOut: hasMore ? `cursor ${sequence}` : null },
        sentAtMs: SENT_AT_MS + sequence,
      })
    const pages = [await paged(1, true), await paged(2, true), await paged(3, false)]
    const intact = await bytesOf(pages[1]!)
    await cutShort(pages[1]!)
    await failureOf(workspace.load(...pages))
    expect(await workspace.rows('_windows', 'done, pages')).toEqual([{ done: false, pages: 1 }])

    await writeFile(fileOf(pages[1]!), intact)
    await workspace.load(pages[1]!, pages[2]!)
    expect(await workspace.rows('_windows', 'done, pages')).toEqual([{ done: true, pages: 3 }])
    expect(await workspace.rows('conversations', 'conversation_id')).toHaveLength(3)
  })
})
