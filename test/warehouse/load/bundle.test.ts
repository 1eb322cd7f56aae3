// The landing may store many pages in one file: the loader reads each row's page from the field `_page`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import type { LoadablePage, LoadContext } from '../../../src/warehouse/load/load-input.ts'
import { freshWindow, landConversations } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const TABLES = ['conversations', 'conversation_tags', '_loads', '_windows']

/** A context whose pages at `bundled` are in one file, together with a page that is in no batch. */
async function bundling(context: LoadContext, bundled: readonly string[]): Promise<LoadContext> {
  const file = join(app.home, `bundle-${context.workspaceId}.ndjson`)
  const lines = [`{"_page":"another","data":[{"ID":"of-another-batch"}]}`]
  for (const address of bundled) {
    const { data } = JSON.parse(Buffer.from(await context.readBody(address)).toString()) as { data: unknown }
    lines.push(JSON.stringify({ _page: address, data }))
  }
  await writeFile(file, `${lines.join('\n')}\n`)
  return {
    ...context,
    pageFiles: async addresses => [
      { uri: file, addresses: addresses.filter(address => bundled.includes(address)), isBundle: true },
      ...(await context.pageFiles(addresses.filter(address => !bundled.includes(address)))),
    ],
  }
}

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
  const landed = async (landing: typeof plain.landing) => {
    const pages: LoadablePage[] = []
    for (const { records, sequence } of sources)
      pages.push(
        await landConversations(landing, { records, window, facts: { sequence, hasMore: sequence < sources.length } }),
      )
    return pages
  }
  await plain.load(...(await landed(plain.landing)))
  const pages = await landed(bundled.landing)
  const context = await bundling(
    bundled.context,
    pages.slice(0, 2).map(({ address }) => address),
  )
  expect(await loadPages(context, pages)).toMatchObject({ files: 3, records: 5 })
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
