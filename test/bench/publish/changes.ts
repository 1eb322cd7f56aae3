// Changes of a warehouse that the real code lands and loads: random conversations for targets that replace rows, conversations of the newest
// month for partitions.
import { openWindow } from '../../../src/core/planning/windows.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import type { LoadablePage } from '../../../src/warehouse/load/load-input.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { EXPORTED_AT_MS, PAGE, pageOf } from '../landed-export.ts'
import { seconds } from '../measure.ts'
import { copyId, monthsBack } from '../multiplied.ts'
import { contextOf, MONTHS, type Place } from './place.ts'

/** As text outside of the heap: parsed, all documents would take much of the memory that is measured. */
interface Document {
  ID: string
  ts: number
  text: Buffer
}

type Order = 'random' | 'newest'

/** Replaces documents of the source, and of their copies. */
export class Changes {
  readonly #place: Place
  readonly #documents: { agentId: string; documents: Document[] }[]
  readonly #draw = new Draw(3, 0, 0)
  #loads = 0

  constructor(place: Place) {
    this.#place = place
    const { source } = place
    const byAgent = new Map<string, Document[]>()
    for (const [index, body] of source.bodies.entries()) {
      const { data } = JSON.parse(body.toString()) as { data: Omit<Document, 'text'>[] }
      const documents = data.map(one => ({ ID: one.ID, ts: one.ts, text: Buffer.from(JSON.stringify(one)) }))
      byAgent.set(source.agents[index]!, [...(byAgent.get(source.agents[index]!) ?? []), ...documents])
    }
    this.#documents = [...byAgent].map(([agentId, documents]) => ({ agentId, documents }))
  }

  #below(n: number): number {
    return Math.floor(this.#draw.unit() * n)
  }

  /** Lands a page: random documents of random copies, or of the newest month, whose copies are not moved back. */
  async #land(order: Order, records: number): Promise<LoadablePage> {
    const { home, source, copies } = this.#place
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
      const { text, ...document } = drawn[this.#below(drawn.length)]!
      const id = kept.length === 0 ? document.ID : copyId(document.ID, kept[this.#below(kept.length)]!)
      return JSON.stringify({
        ...JSON.parse(text.toString()),
        ID: id,
        lastModified: openedAtMs,
        messagesNum: this.#loads,
      })
    })
    const toSec = Math.floor(openedAtMs / 1_000)
    const window = openWindow({ agentId, kind: 'full', fromSec: null, toSec, openedAtMs })
    const { head, body } = pageOf(texts, { window, sequence: 1, hasMore: false })
    const landing = openLanding(home).workspace(source.workspaceId)
    return { address: await landing.land(head, body), head }
  }

  /** @returns seconds that the load took */
  async load(warehouse: Warehouse, order: Order, records: number): Promise<number> {
    const pages: LoadablePage[] = []
    for (let left = records; left > 0; left -= PAGE) pages.push(await this.#land(order, Math.min(PAGE, left)))
    return seconds(async () => {
      const { inserted } = await loadPages(contextOf(warehouse, this.#place), pages)
      if (inserted > 0) throw new Error(`${inserted} conversations were new`)
    })
  }
}
