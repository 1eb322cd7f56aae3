// Changes conversations of a warehouse by pages that the real code lands and loads: random ones for targets that
// replace rows, those of the newest month for partitions.
import { openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openWindow } from '../../../src/core/planning/windows.ts'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import type { LoadablePage } from '../../../src/warehouse/load/load-input.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { EXPORTED_AT_MS, PAGE, pageOf } from '../landed-export.ts'
import { seconds } from '../measure.ts'
import { copyId, monthsBack } from '../multiplied.ts'
import { contextOf, landingOf } from '../place.ts'
import { MONTHS, type PublishedPlace } from './place.ts'

/** A document whose text is in a file: all documents would use much of the memory that is measured. */
interface Document {
  ID: string
  ts: number
  /** Range of the file, bytes. */
  start: number
  end: number
}

type Order = 'random' | 'newest'

/** Replaces documents of the source and of their copies. */
export class Changes {
  readonly #place: PublishedPlace
  readonly #documents: { agentId: string; documents: Document[] }[]
  readonly #draw = new Draw(3, 0, 0)
  readonly #file: number
  #loads = 0

  /** Removes the bodies from the source. */
  constructor(place: PublishedPlace) {
    this.#place = place
    const { source, home } = place
    this.#file = openSync(join(home, 'documents'), 'w+')
    const byAgent = new Map<string, Document[]>()
    let start = 0
    for (const [index, body] of source.bodies.splice(0).entries()) {
      const { data } = JSON.parse(body.toString()) as { data: { ID: string; ts: number }[] }
      const documents = data.map(document => {
        const end = start + writeSync(this.#file, JSON.stringify(document))
        const written = { ID: document.ID, ts: document.ts, start, end }
        start = end
        return written
      })
      byAgent.set(source.agents[index]!, [...(byAgent.get(source.agents[index]!) ?? []), ...documents])
    }
    this.#documents = [...byAgent].map(([agentId, documents]) => ({ agentId, documents }))
  }

  #textOf({ start, end }: Document): string {
    const bytes = Buffer.alloc(end - start)
    readSync(this.#file, bytes, 0, bytes.length, start)
    return bytes.toString()
  }

  #below(n: number): number {
    return Math.floor(this.#draw.unit() * n)
  }

  /** Lands a page: random documents of random copies, or of the newest month, whose copies are not moved back. */
  async #land(order: Order, records: number): Promise<LoadablePage> {
    const { copies } = this.#place
    this.#loads += 1
    const openedAtMs = EXPORTED_AT_MS + this.#loads * 1_000
    const { agentId, documents } = this.#documents[this.#loads % this.#documents.length]!
    const month = new Date(EXPORTED_AT_MS - 1)
    const newestMs = Date.UTC(month.getUTCFullYear(), month.getUTCMonth())
    const drawn = order === 'random' ? documents : documents.filter(({ ts }) => ts >= newestMs)
    const kept = Array.from({ length: copies }, (_, copy) => copy).filter(
      copy => copy > 0 && (order === 'random' || monthsBack(copy, MONTHS) === 0),
    )
    const texts = Array.from({ length: records }, () => {
      const document = drawn[this.#below(drawn.length)]!
      const copy = kept.length === 0 ? 0 : kept[this.#below(kept.length)]!
      return JSON.stringify({
        ...(JSON.parse(this.#textOf(document)) as object),
        ID: copy === 0 ? document.ID : copyId(document.ID, copy),
        lastModified: openedAtMs,
        messagesNum: this.#loads,
      })
    })
    const toSec = Math.floor(openedAtMs / 1_000)
    const window = openWindow({ agentId, kind: 'full', fromSec: null, toSec, openedAtMs })
    const { head, body } = pageOf(texts, { window, sequence: 1, hasMore: false })
    return { address: await landingOf(this.#place).land(head, body), head }
  }

  /** Returns the duration of the load in seconds. */
  async load(warehouse: Warehouse, order: Order, records: number): Promise<number> {
    const pages: LoadablePage[] = []
    for (let left = records; left > 0; left -= PAGE) pages.push(await this.#land(order, Math.min(PAGE, left)))
    return seconds(async () => {
      await loadPages(contextOf(warehouse, this.#place), pages)
    })
  }
}
