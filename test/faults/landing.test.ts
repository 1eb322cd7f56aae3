import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { PLAIN_SYNC, syncOnce } from '../../src/run/embedded.ts'
import { replay } from '../../src/run/replay.ts'
import { warehouseFile } from '../../src/warehouse/open.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { landedFile } from '../landing/landed-file.ts'
import type { SimulatedApp } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'
import { simulatedTime } from '../workflows/simulated-time.ts'
import { expectWhole } from './scene.ts'

interface Landed extends SimulatedApp {
  /** Pages of conversations, in order. */
  pages: string[]
  fileOf(page: string): string
}

/** All is landed, and the warehouse is gone: nothing is loaded. */
async function landedOnly(): Promise<Landed> {
  const simulated = await simulatedApp({ sandbox: { conversations: 120 }, settings: { maxPage: 10 } })
  await simulated.sync()
  await simulated.close()
  const { home } = simulated.config
  await rm(warehouseFile(home))
  const landing = openLanding(home).workspace('ws_demo')
  const pages = (await landing.list('conversations')).map(({ address }) => address)
  return { ...simulated, pages, fileOf: page => landedFile(home, page) }
}

async function synced({ config, sandbox }: SimulatedApp): Promise<SyncReport> {
  const app = await openApp({ config })
  const { signal } = new AbortController()
  const run = { config, workspace: config.workspaces[0]!, app, signal, clock: simulatedTime(sandbox.clock) }
  try {
    return (await syncOnce({ ...run, request: PLAIN_SYNC }))!
  } finally {
    await app.close()
  }
}

/** The first failure of a sync, told or thrown. */
const failureOf = (simulated: SimulatedApp): Promise<Pick<ConvohouseError, 'code' | 'message'>> =>
  synced(simulated).then(
    ({ failures: [first] }) => ({ code: first!.code, message: `${first!.what} ${first!.hint}` }),
    (error: ConvohouseError) => ({ code: error.code, message: `${error.message} ${error.hint}` }),
  )

const whole = ({ sandbox, config }: SimulatedApp) => expectWhole({ sandbox, home: config.home })

/** A page with two before it and some behind it, in its window. */
const inTheMiddle = ({ pages }: Landed): string => pages.find(page => page.endsWith('p000003.json.gz'))!

const cutTo = (share: number) => async (file: string) => {
  const bytes = await readFile(file)
  await writeFile(file, bytes.subarray(0, Math.floor(bytes.length * share)))
}

const DAMAGES: Record<string, (file: string, landed: Landed) => Promise<unknown>> = {
  'cut off in its body': cutTo(0.9),
  'cut off behind its head': async (file, landed) => {
    const { packed } = await openLanding(landed.config.home).workspace('ws_demo').head(inTheMiddle(landed))
    await writeFile(file, (await readFile(file)).subarray(0, -packed!.bytes))
  },
  'cut off in its head': cutTo(0.01),
  empty: cutTo(0),
  garbage: file => writeFile(file, 'no page at all'),
  'a folder': file => rm(file).then(() => mkdir(file)),
}

describe('a landed page that is damaged', () => {
  it('is named, however it is damaged; deleted, it alone is bought again', async () => {
    const landed = await landedOnly()
    const file = landed.fileOf(inTheMiddle(landed))
    const intact = await readFile(file)
    const bought = (await landed.bought()).length
    const { facts } = await openLanding(landed.config.home).workspace('ws_demo').head(inTheMiddle(landed))
    for (const [damage, apply] of Object.entries(DAMAGES)) {
      await apply(file, landed)
      const told = await failureOf(landed)
      expect(told.code, damage).toBe('LANDING_CORRUPT')
      for (const text of [file, 'delete it and sync again']) expect(told.message, damage).toContain(text)
      await rm(file, { recursive: true })
      await writeFile(file, intact)
    }
    expect((await landed.bought()).length).toBe(bought)
    await rm(file)
    expect(await synced(landed)).toMatchObject({ outcome: 'done' })
    // Of its neighbours one conversation each, which may be of the same second.
    const again = (await landed.bought()).slice(bought).reduce((sum, { returned }) => sum + returned, 0)
    expect(again - facts!.returned).toBeGreaterThanOrEqual(0)
    expect(again - facts!.returned).toBeLessThanOrEqual(2)
    await whole(landed)
    // And it is a whole landing again.
    await replay({ config: landed.config })
    await whole(landed)
  })
})

describe('landed pages of which any were deleted', () => {
  it('are bought again, and no others, wherever in their windows they were', async () => {
    const landed = await landedOnly()
    const landing = openLanding(landed.config.home).workspace('ws_demo')
    const choice = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(choice, async choices => {
        // Those of the runs before are among them: pages that were exported again may be lost, too.
        const pages = (await landing.list('conversations')).map(({ address }) => address)
        const deleted = [...new Set(choices.map(chosen => pages[chosen % pages.length]!))]
        let lost = 0
        for (const page of deleted) {
          lost += (await landing.head(page)).facts!.returned
          await rm(landed.fileOf(page))
        }
        await rm(warehouseFile(landed.config.home), { force: true })
        const before = (await landed.bought()).length
        expect(await synced(landed)).toMatchObject({ outcome: 'done' })
        const again = (await landed.bought()).slice(before).reduce((sum, { returned }) => sum + returned, 0)
        // And no more than a page beside each: where one tells no time, nobody knows what the next one begins with.
        expect(again).toBeLessThanOrEqual(lost + landed.config.workspaces[0]!.maxPage * deleted.length)
        await whole(landed)
      }),
      { numRuns: 3 },
    )
  })
})

describe('a page that was loaded and is deleted', () => {
  it('keeps a replay from throwing away the warehouse that has it, and costs a sync nothing', async () => {
    const landed = await landedOnly()
    await synced(landed)
    const bought = (await landed.bought()).length
    await rm(landed.fileOf(inTheMiddle(landed)))
    expect(await synced(landed)).toMatchObject({ outcome: 'done', requests: 0 })
    await expect(replay({ config: landed.config })).rejects.toMatchObject({ code: 'LANDING_INCOMPLETE' })
    await whole(landed)
    expect((await landed.bought()).length).toBe(bought)
  })
})

describe('files that are no pages', () => {
  it('are passed over', async () => {
    const landed = await landedOnly()
    const bought = (await landed.bought()).length
    const folder = dirname(landed.fileOf(landed.pages[0]!))
    for (const name of ['.tmp-4242-0badcafe', 'notes.txt', '.DS_Store', 'x.g01.p000001.json'])
      await writeFile(join(folder, name), 'half a page')
    await mkdir(join(folder, 'a-folder', 'and-another'), { recursive: true })
    expect(await synced(landed)).toMatchObject({ outcome: 'done', requests: 0 })
    expect((await landed.bought()).length).toBe(bought)
    await whole(landed)
  })
})
