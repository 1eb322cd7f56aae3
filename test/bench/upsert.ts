// Measures the cost of a page that replaces conversations in a large warehouse of one or three million conversations: landed and loaded by
// the real code, fifty pages of a hundred records per load. Ids are random, the worst case: every part of every table is touched.
import { openWindow } from '../../src/core/planning/windows.ts'
import type { Landing } from '../../src/landing/landing.ts'
import { mix } from '../../src/sandbox/world/random.ts'
import { loadPages } from '../../src/warehouse/load/load.ts'
import type { LoadablePage, LoadContext } from '../../src/warehouse/load/load-input.ts'
import { CONCURRENT_WINDOWS } from '../../workflows/window-loop.ts'
import { inFolder } from './command.ts'
import { EXPORTED_AT_MS, type ExportedPage, landExport, PAGE, pageOf } from './landed-export.ts'
import { type BenchOptions, rounded, seconds } from './measure.ts'
import { copyId, multiply } from './multiplied.ts'
import { contextOf, inWarehouse, landingOf, loadSource, type Place } from './place.ts'

const PAGES_PER_LOAD = 50
/** Number of loads; one suffices to show that the bench works. */
const loadsBeside = (rows: number): number => (rows < 10_000 ? 1 : 10)

type Document = Record<string, unknown> & { ID: string }

interface Replacing {
  copies: number
  seed: number
  loads: number
}

/** Returns the pages of one full window per agent. Each record has the id of a copy (`copyId`), so it replaces only that copy. */
function replacingPages({ source }: Place, options: Replacing): ExportedPage[] {
  const documents = new Map<string, Document[]>()
  for (const [index, body] of source.bodies.entries()) {
    const { data } = JSON.parse(body.toString()) as { data: Document[] }
    const agentId = source.agents[index]!
    documents.set(agentId, [...(documents.get(agentId) ?? []), ...data])
  }
  const windows = [...documents].map(([agentId, held]) => {
    const openedAtMs = EXPORTED_AT_MS + options.seed * 1_000
    const toSec = Math.floor(openedAtMs / 1_000)
    return { held, window: openWindow({ agentId, kind: 'full', fromSec: null, toSec, openedAtMs }) }
  })
  let drawn = 0
  const below = (n: number) => {
    drawn += 1
    return Math.floor((mix(options.seed, drawn) / 2 ** 32) * n)
  }
  return Array.from({ length: PAGES_PER_LOAD * options.loads }, (_, index) => {
    const { held, window } = windows[index % windows.length]!
    const texts = Array.from({ length: PAGE }, () => {
      const document = held[below(held.length)]!
      return JSON.stringify({ ...document, ID: copyId(document.ID, 1 + below(options.copies - 1)) })
    })
    return pageOf(texts, { window, sequence: Math.floor(index / windows.length) + 1, hasMore: true })
  })
}

async function landAll(landing: Landing, pages: readonly ExportedPage[]): Promise<LoadablePage[]> {
  const landed: LoadablePage[] = []
  const left = [...pages.entries()].reverse()
  const writer = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const [index, { head, body }] = next
      const path = await landing.land(head, body)
      landed[index] = { address: path, head }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_WINDOWS }, writer))
  return landed
}

async function countHeld({ writer }: LoadContext): Promise<number> {
  const [row] = await writer.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations')
  return row!.n
}

/** Returns the milliseconds per page of each load, including checkpoints that DuckDB decides to make. */
async function measure(place: Place, options: Replacing): Promise<number[]> {
  const pages = replacingPages(place, options)
  return inWarehouse(place.home, { bulk: false }, async warehouse => {
    const context = contextOf(warehouse, place)
    const landing = landingOf(place)
    const held = await countHeld(context)
    const taken: number[] = []
    for (let load = 0; load < options.loads; load++) {
      const own = pages.slice(load * PAGES_PER_LOAD, (load + 1) * PAGES_PER_LOAD)
      let landingSeconds = 0
      const took = await seconds(async () => {
        let landed: LoadablePage[] = []
        landingSeconds = await seconds(async () => {
          landed = await landAll(landing, own)
        })
        const { records } = await loadPages(context, landed)
        if (records !== own.length * PAGE) throw new Error(`${records} records were loaded`)
      })
      const msPerPage = (part: number) => (part * 1_000) / own.length
      taken.push(msPerPage(took))
      console.error(
        `beside ${held.toLocaleString('en')}: ${rounded(msPerPage(took), 1)} ms per page, ${rounded(msPerPage(landingSeconds), 1)} of it landing`,
      )
    }
    if ((await countHeld(context)) !== held) throw new Error('conversations were lost or duplicated')
    return taken
  })
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

export const upsertBench = (options: BenchOptions): Promise<Record<string, number>> =>
  inFolder(async home => {
    const place = { home, source: await landExport(home, options) }
    const { records } = place.source
    await inWarehouse(home, { bulk: true }, warehouse => loadSource(place, contextOf(warehouse, place)))
    const measured: number[] = []
    let copies = 1
    for (const rows of [options.rows, 3 * options.rows]) {
      const wanted = Math.round(rows / records)
      await inWarehouse(home, { bulk: true }, ({ writer }) =>
        multiply(writer, { source: records, from: copies, to: wanted - 1 }),
      )
      copies = wanted
      measured.push(mean(await measure(place, { copies, seed: copies, loads: loadsBeside(rows) })))
    }
    const [small, large] = measured
    return {
      msPerPageAt1M: rounded(small!, 1),
      growthAt3M: rounded(large! / small!),
      msPerPageAt3M: rounded(large!, 1),
      rows: options.rows,
    }
  })
