// A disk that is full where poll logs or bundles are written, while the rest of the landing still has space.
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import type { Landing } from '../../../src/landing/landing.ts'
import { bytes, failureOf } from '../../landing/landing-contract.ts'
import { headOf, pollHead, SENT_AT_MS } from '../../landing/page-heads.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a full disk of the landing: ${noDisk}`)

const FOLDER = 'ws/conversations/agent-1/2026-11'
const FULL = { code: 'HOME_UNUSABLE', message: expect.stringContaining('the disk is full (ENOSPC)') as string }

async function onDisks() {
  const home = await temporaryHome()
  const landing = join(home, 'landing')
  const [polls, bundles] = [join(landing, 'ws/polls'), join(landing, FOLDER, 'bundles')]
  const disk = await smallDisks([landing, polls, bundles])
  const open = (): Landing => openLanding(disk.outside(home)).workspace('ws')
  return { disk, polls, bundles, open, store: open() }
}

/** Every page with its body. */
async function contents(store: Landing) {
  const pages = (await store.list()).map(async ({ address }) => [address, String(await store.body(address))] as const)
  return Object.fromEntries(await Promise.all(pages))
}

const compact = (store: Landing) => store.compact([FOLDER], SENT_AT_MS + DAY)

describe.skipIf(noDisk)('a disk that is full', () => {
  it('while a line is appended to a poll log leaves the page in its file', async () => {
    const { disk, polls, open, store } = await onDisks()
    const land = (sequence: number) =>
      store.land(pollHead({ sequence }), bytes(`{"data":[],"pad":"${'x'.repeat(6_000)}","n":${sequence}}`))
    const first = await land(1)
    const isInFile = async (address: string) =>
      (await readdir(disk.outside(join(dirname(polls), dirname(address).slice(3))))).includes(
        address.split('/').at(-1)!,
      )
    // No space at all, and space for a part of the line.
    for (const [sequence, but] of [
      [2, 0],
      [3, 4_096],
    ] as const) {
      await disk.fill(polls, but)
      expect(await isInFile(await land(sequence))).toBe(true)
      await disk.free(polls)
    }
    const after = await land(4)
    expect([await isInFile(first), await isInFile(after)]).toEqual([false, false])
    const found = await contents(open())
    expect(Object.keys(found)).toHaveLength(4)
    expect(await contents(store)).toEqual(found)
    expect(Object.values(found).map(body => JSON.parse(body).n as number)).toEqual([1, 2, 3, 4])
    expect((await failureOf(land(3))).code).toBe('LANDING_TAKEN')
  })

  it('while pages are moved into bundles, or poll logs are joined, loses no page; the next compaction completes it', async () => {
    const { disk, polls, bundles, open, store } = await onDisks()
    for (const sequence of [1, 2, 3]) {
      await store.land(headOf({ sequence }), bytes(`{"data":[{"ID":"c${sequence}"}]}`))
      await store.land(pollHead({ sequence, generation: 2 }), bytes(`{"data":[],"n":${sequence}}`))
    }
    const expected = await contents(store)
    const filesIn = async (folder: string) =>
      (await readdir(disk.outside(folder), { recursive: true })).filter(name => name.endsWith('.gz'))
    for (const folder of [bundles, polls]) {
      await disk.fill(folder, 0)
      expect(await failureOf(compact(store))).toMatchObject(FULL)
      expect(await filesIn(folder)).toEqual([])
      for (const reader of [store, open()]) expect(await contents(reader)).toEqual(expected)
      await disk.free(folder)
    }
    await compact(store)
    for (const folder of [bundles, polls]) expect(await filesIn(folder)).toHaveLength(1)
    for (const reader of [store, open()]) expect(await contents(reader)).toEqual(expected)
  })
})
