// Kills expiry just before each change of a folder: what is left is either landed or recorded as expired.
import { expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { folderOf } from '../../../src/landing/page-address.ts'
import { bytes } from '../../landing/landing-contract.ts'
import { headOf, pollHead, SENT_AT_MS } from '../../landing/page-heads.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { killedAtEachChange } from './killed-step.ts'

const OCTOBER = '20261031T235959999Z-head-1-2'
const FOLDER = 'ws/conversations/agent-1/2026-10'
const EXPIRE = [{ folder: FOLDER, pages: 6 }]

const STEP = `
import { openLanding } from 'src/landing/folder-landing.js'
const store = openLanding(process.env.HOME_UNDER_TEST).workspace('ws')
await store.expire(${JSON.stringify(EXPIRE)}, { beforeMs: 0, nowMs: 7 })
`

it('an expiry that is killed at any change of a folder removes no other page, records what it removes, and is completed by the next one', async () => {
  const home = await temporaryHome()
  const store = openLanding(home).workspace('ws')
  for (const sequence of [1, 2, 3]) {
    await store.land(headOf({ window: OCTOBER, sequence }), bytes(`{"data":[${sequence}]}`))
    await store.land(pollHead({ window: OCTOBER, generation: 2, sequence }), bytes('{"data":[]}'))
    if (sequence === 2) await store.compact([FOLDER], SENT_AT_MS + DAY)
  }
  const kept = [
    await store.land(pollHead({ window: OCTOBER, agentId: 'other' }), bytes('{"data":[]}')),
    await store.land(headOf(), bytes('{"data":[]}')),
  ]
  const all = (await store.list()).map(({ address }) => address)
  expect(all).toHaveLength(8)
  const kills = await killedAtEachChange(STEP, home, async copy => {
    const reader = openLanding(copy).workspace('ws')
    const left = new Set((await reader.list()).map(({ address }) => address))
    const expired = await reader.expired()
    const missing = all.filter(address => !left.has(address))
    expect(missing.every(address => expired.has(folderOf(address)) && !kept.includes(address))).toBe(true)
    for (const address of left) expect((await reader.body(address)).length).toBeGreaterThan(0)
    const isListed = (await reader.folders()).some(({ folder }) => folder === FOLDER)
    expect(isListed || [...left].every(address => folderOf(address) !== FOLDER)).toBe(true)
    await reader.expire([{ folder: FOLDER, pages: 0 }], { beforeMs: 0, nowMs: 8 })
    expect((await reader.list()).map(({ address }) => address)).toEqual(kept)
    expect([...(await reader.expired())]).toEqual([[FOLDER, 6]])
  })
  expect(kills).toBeGreaterThanOrEqual(5)
})
