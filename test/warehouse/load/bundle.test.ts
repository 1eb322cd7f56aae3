// The landing may store many pages in one file: the loader reads each value's page from the field `_page`, and the page's body from `_body`.
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { folderOf } from '../../../src/landing/page-address.ts'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import type { LoadablePage } from '../../../src/warehouse/load/load-input.ts'
import { flipped } from '../../landing/flipped.ts'
import { freshWindow, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const TABLES = ['conversations', 'conversation_tags', '_loads', '_windows']

it('pages in a bundle and pages in separate files load into the same rows', async () => {
  const [plain, bundled] = [app.workspace(), app.workspace()]
  const window = freshWindow()
  const sources = [
    { records: [{ ID: 'a', summary: 'first', tags: ['x', 'y'] }, { ID: 'b' }], sequence: 1 },
    {
      records: [
        { ID: 'b', summary: 'newer' },
        { ID: 'c', tags: ['z'] },
      ],
      sequence: 2,
    },
    { records: [{ ID: 'd', _page: 'a field of the record' }], sequence: 3 },
  ]
  const landed = async (landing: typeof plain.landing, which: typeof sources) => {
    const pages: LoadablePage[] = []
    for (const { records, sequence } of which)
      pages.push(
        await landConversations(landing, { records, window, facts: { sequence, hasMore: sequence < sources.length } }),
      )
    return pages
  }
  await plain.load(...(await landed(plain.landing, sources)))
  const pages = await landed(bundled.landing, sources.slice(0, 2))
  const ofAnotherBatch = { records: [{ ID: 'of-another-batch' }], window: freshWindow() }
  await landConversations(bundled.landing, ofAnotherBatch)
  await bundled.landing.compact([folderOf(pages[0]!.address)], SENT_AT_MS + DAY)
  const [file] = await bundled.landing.files(pages.map(({ address }) => address))
  expect(file).toMatchObject({ isBundle: true, addresses: pages.map(({ address }) => address) })
  pages.push(...(await landed(bundled.landing, sources.slice(2))))
  expect(await loadPages(bundled.context, pages)).toMatchObject({ files: 3, records: 5 })
  for (const table of TABLES) {
    const what = table === '_loads' ? 'records, coerced' : "COLUMNS(name -> name NOT IN ('workspace_id', '_record'))"
    expect(await bundled.rows(table, what), table).toEqual(await plain.rows(table, what))
  }
  expect((await bundled.rows('conversations', 'conversation_id')).map(row => row.conversation_id)).toEqual([
    'a',
    'b',
    'c',
    'd',
  ])
})

it('a page that a killed compaction left in two bundles loads once, as it landed', async () => {
  const { landing, context, rows } = app.workspace()
  const window = freshWindow()
  const land = (sequence: number) =>
    landConversations(landing, {
      records: [{ ID: `c${sequence}` }],
      window,
      facts: { sequence, hasMore: sequence < 3 },
    })
  const pages = [await land(1), await land(2)]
  const folder = folderOf(pages[0]!.address)
  const compact = () => landing.compact([folder], SENT_AT_MS + DAY)
  const bundleOf = async () => (await landing.files([pages[0]!.address]))[0]!.uri
  await compact()
  const [first, bytes] = [await bundleOf(), await readFile(await bundleOf())]
  pages.push(await land(3))
  await compact()
  await writeFile(join(dirname(first), '0.json.gz'), bytes)
  expect(await landing.files(pages.map(({ address }) => address))).toHaveLength(2)
  let batches = 0
  const verifyChecksums: typeof context.verifyChecksums = pages => {
    batches += 1
    return context.verifyChecksums(pages)
  }
  expect(await loadPages({ ...context, verifyChecksums }, pages)).toMatchObject({ files: 3, records: 3, coerced: 0 })
  // Records that are read twice fail the batch, which is then halved.
  expect(batches).toBe(1)
  expect(await rows('conversations', 'conversation_id')).toHaveLength(3)
})

it.each([
  ['the head of a page in a file', false, ['loaded', 'LANDING_CORRUPT', 'LANDING_CORRUPT']],
  ['a member of a bundle', true, ['LANDING_CORRUPT', 'LANDING_CORRUPT', 'LANDING_CORRUPT']],
])(
  'a flag in the header of %s keeps DuckDB, which would fail internally, from the file',
  async (_, isBundle, outcomes) => {
    const { landing, context, rows } = app.workspace()
    const window = freshWindow()
    const pages: LoadablePage[] = []
    for (const sequence of [1, 2, 3, 4]) {
      const facts = { sequence, hasMore: sequence < 4 }
      const { address } = await landConversations(landing, { records: [{ ID: `c${sequence}` }], window, facts })
      pages.push({ address, head: await landing.head(address) })
    }
    if (isBundle) await landing.compact([folderOf(pages[0]!.address)], SENT_AT_MS + DAY)
    const found: unknown[] = []
    for (const [index, flag] of [0, 2, 4].entries()) {
      const page = pages[index]!
      const file = (await landing.files([page.address]))[0]!.uri
      const intact = await readFile(file)
      const member = isBundle ? intact.lastIndexOf(Buffer.from([0x1f, 0x8b, 8, 0])) : 0
      await writeFile(file, flipped(intact, (member + 3) * 8 + flag))
      found.push(
        await loadPages(context, [page]).then(
          () => 'loaded',
          error => error.code,
        ),
      )
      await writeFile(file, intact)
    }
    expect(found).toEqual(outcomes)
    expect(await loadPages(context, pages)).toMatchObject({ records: 4, coerced: 0 })
    expect(await rows('conversations', 'conversation_id')).toHaveLength(4)
  },
)
