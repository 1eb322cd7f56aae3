// Kills compaction just before each change of a folder: before a bundle or a merged log gets its name, after it, between deletions.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import type { Landing } from '../../../src/landing/landing.ts'
import { bytes, failureOf } from '../../landing/landing-contract.ts'
import { headOf, pollHead, SENT_AT_MS } from '../../landing/page-heads.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { killedAtEachChange } from './killed-step.ts'

const TOMORROW_MS = SENT_AT_MS + DAY

const compactAll = async (store: Landing) =>
  store.compact(
    (await store.folders()).map(({ folder }) => folder),
    TOMORROW_MS,
  )

const STEP = `
import { openLanding } from 'src/landing/folder-landing.js'
const store = openLanding(process.env.HOME_UNDER_TEST).workspace('ws')
await store.compact((await store.folders()).map(({ folder }) => folder), ${TOMORROW_MS})
`

async function contents(home: string) {
  const store = openLanding(home).workspace('ws')
  const pages = (await store.list()).map(async ({ address }) => {
    const { packed: _, ...head } = await store.head(address)
    return { address, head, body: String(await store.body(address)) }
  })
  return Promise.all(pages)
}

const filesBelow = async (home: string) =>
  (await readdir(join(home, 'landing'), { recursive: true, withFileTypes: true })).filter(
    entry => entry.isFile() && !entry.name.startsWith('.tmp-'),
  ).length

it('a compaction that is killed at any change of a folder loses and doubles no page, and the next one completes it', async () => {
  const home = await temporaryHome()
  const store = openLanding(home).workspace('ws')
  // The second compaction joins a bundle and a merged log with later pages and lines.
  for (const sequences of [
    [1, 2, 3],
    [4, 5],
  ]) {
    for (const sequence of sequences) {
      await store.land(headOf({ sequence }), bytes(`{"data":[{"ID":"c${sequence}"}]}`))
      await store.land(pollHead({ sequence, generation: 2 }), bytes(`{"data":[],"n":${sequence}}`))
    }
    if (sequences[0] === 1) await compactAll(store)
  }
  const [expected, before] = [await contents(home), await filesBelow(home)]
  expect(expected).toHaveLength(10)
  const kills = await killedAtEachChange(STEP, home, async (copy, { at }) => {
    expect(await contents(copy), `killed before change ${at}`).toEqual(expected)
    const reader = openLanding(copy).workspace('ws')
    for (const { address, head } of expected) {
      const error = await failureOf(reader.land(head, bytes('{"data":[{"ID":"another"}]}')))
      expect(error.code, address).toBe('LANDING_TAKEN')
    }
    await compactAll(reader)
    expect(await contents(copy)).toEqual(expected)
    // A bundle, a merged log, and the file that keeps the folder.
    expect(await filesBelow(copy)).toBe(3)
  })
  expect(before).toBeGreaterThan(3)
  expect(kills).toBe(10)
})
