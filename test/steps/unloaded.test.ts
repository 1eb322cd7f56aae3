import { readdir, utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readUnloaded } from '../../src/steps/pending.ts'
import { landedFile } from '../landing/landed-file.ts'
import { freshWindow, landAgents, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'

const NEXT_MONTH_MS = SENT_AT_MS + 31 * 86_400_000
/** A modification time long before now, with which a folder counts as settled. */
const CHANGED_AT = new Date(SENT_AT_MS)

const home = temporaryWarehouse()

function scene() {
  const { id, landing, load, rows } = home.workspace()
  const { writer } = home.warehouse
  const land = (name: string) =>
    landConversations(landing, { records: [{ ID: name }], window: freshWindow({ kind: 'head' }) })
  const unloaded = async (nowMs: number) =>
    (await readUnloaded({ landing, writer, workspaceId: id, nowMs })).pages.map(({ address }) => address)
  const folder = (page: { address: string }) => dirname(landedFile(home.home, page.address))
  const settle = (page: { address: string }) => utimes(folder(page), CHANGED_AT, CHANGED_AT)
  const loadedFolders = async () => (await rows('_folders', 'folder')).map(row => row.folder)
  return { landing, land, unloaded, load, folder, settle, loadedFolders }
}

describe('unloaded pages', () => {
  it('are the landed pages without a load, in loading order', async () => {
    const { landing, land, unloaded, load } = scene()
    const listing = await landAgents(landing, { agents: [{ ID: 'agent-1' }] })
    const pages = [await land('a'), await land('b'), await land('c')]
    expect(await unloaded(SENT_AT_MS)).toEqual([...pages.map(({ address }) => address), listing.address].sort(byName))
    await load(pages[0]!, pages[2]!)
    expect(await unloaded(SENT_AT_MS)).toEqual([pages[1]!.address, listing.address].sort(byName))
  })

  it('are not searched for in the loaded folder of a past month until the folder changes', async () => {
    const { land, unloaded, load, folder, settle, loadedFolders } = scene()
    const [a, b] = [await land('a'), await land('b')]
    await load(a, b)
    await settle(a)
    expect(await unloaded(NEXT_MONTH_MS)).toEqual([])
    expect(await loadedFolders()).toEqual([dirname(a.address)])

    const late = await land('late')
    expect(await readdir(folder(a))).toHaveLength(3)
    // The late page is not found while the folder's modification time is unchanged, because the folder's names are not read.
    await settle(a)
    expect(await unloaded(NEXT_MONTH_MS)).toEqual([])
    const another = await land('another')
    expect(await unloaded(NEXT_MONTH_MS)).toEqual([late.address, another.address])
  })

  it('are searched for while the month lasts, while a page is unloaded, and just after a change of the folder', async () => {
    const { land, unloaded, load, settle, loadedFolders } = scene()
    const waiting = await land('waiting')
    await settle(waiting)
    await unloaded(NEXT_MONTH_MS)
    expect(await loadedFolders()).toEqual([])
    await load(waiting)
    await settle(waiting)
    await unloaded(SENT_AT_MS)
    expect(await loadedFolders()).toEqual([])
    await load(await land('more'))
    await unloaded(Date.now())
    expect(await loadedFolders()).toEqual([])
  })
})

const byName = (a: string, b: string): number => (a.split('/').at(-1)! < b.split('/').at(-1)! ? -1 : 1)
