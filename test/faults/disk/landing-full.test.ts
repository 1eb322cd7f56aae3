// A disk that is full where bundles are written, while the rest of the landing still has space.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import type { Landing } from '../../../src/landing/landing.ts'
import { bytes, failureOf } from '../../landing/landing-contract.ts'
import { headOf, SENT_AT_MS } from '../../landing/page-heads.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a full disk of the landing: ${noDisk}`)

const FOLDER = 'ws/conversations/agent-1/2026-11'
const FULL = { code: 'HOME_UNUSABLE', message: expect.stringContaining('the disk is full (ENOSPC)') as string }

async function onDisks() {
  const home = await temporaryHome()
  const landing = join(home, 'landing')
  const bundles = join(landing, FOLDER, 'bundles')
  const disk = await smallDisks([landing, bundles])
  const open = (): Landing => openLanding(disk.outside(home)).workspace('ws')
  return { disk, bundles, open, store: open() }
}

/** Returns every page with its body. */
async function contents(store: Landing) {
  const pages = (await store.list()).map(async ({ address }) => [address, String(await store.body(address))] as const)
  return Object.fromEntries(await Promise.all(pages))
}

const compact = (store: Landing) => store.compact([FOLDER], SENT_AT_MS + DAY)

it.skipIf(noDisk)(
  'a disk that is full while pages are moved into bundles loses no page; the next compaction completes it',
  async () => {
    const { disk, bundles, open, store } = await onDisks()
    for (const sequence of [1, 2, 3]) await store.land(headOf({ sequence }), bytes(`{"data":[{"ID":"c${sequence}"}]}`))
    const expected = await contents(store)
    const filesIn = async (folder: string) =>
      (await readdir(disk.outside(folder), { recursive: true })).filter(name => name.endsWith('.gz'))
    await disk.fill(bundles, 0)
    expect(await failureOf(compact(store))).toMatchObject(FULL)
    expect(await filesIn(bundles)).toEqual([])
    for (const reader of [store, open()]) expect(await contents(reader)).toEqual(expected)
    await disk.free(bundles)
    await compact(store)
    expect(await filesIn(bundles)).toHaveLength(1)
    for (const reader of [store, open()]) expect(await contents(reader)).toEqual(expected)
  },
)
