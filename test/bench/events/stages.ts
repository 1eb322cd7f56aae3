// How long an event waits in each stage between its acknowledgement and SQL, observed from outside: in the folders of the spool and
// in the tables.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { spoolFolders } from '../../../src/spool/folders.ts'
import { readSegment } from '../../../src/spool/read-segment.ts'
import { queryHolder } from '../../../src/warehouse/query/http/holder-client.ts'
import type { Cell } from '../../../src/warehouse/query/results.ts'

/** Known times of one event, ms of the machine's clock. Events are identified by `createdAt`. */
export interface Waited {
  acknowledgedMs?: number
  sealedMs?: number
  /** When the transaction that applied the event began to write. */
  begunMs?: number
  seenMs?: number
}

export class Stages {
  readonly events = new Map<number, Waited>()
  private readonly segments = new Set<string>()
  private readonly home: string
  private readonly workspaceId: string

  constructor(home: string, workspaceId: string) {
    this.home = home
    this.workspaceId = workspaceId
  }

  at(createdAt: number): Waited {
    const known = this.events.get(createdAt)
    if (known) return known
    const waited: Waited = {}
    this.events.set(createdAt, waited)
    return waited
  }

  /** Records when events became part of a sealed segment. */
  async checkSpool(): Promise<void> {
    const { sealed } = spoolFolders(this.home, this.workspaceId)
    const names = await readdir(sealed).catch(() => [])
    const nowMs = Date.now()
    for (const name of names.filter(one => !this.segments.has(one))) {
      this.segments.add(name)
      // Reading fails if the segment was drained in the meantime.
      const reading = await readSegment(join(sealed, name)).catch(() => null)
      for (const { payload } of reading?.events ?? [])
        this.at((JSON.parse(Buffer.from(payload).toString()) as { createdAt: number }).createdAt).sealedMs = nowMs
    }
  }

  /** Records when events became visible to SQL, read as `convohouse query` reads. */
  async checkTables(fromMs: number): Promise<void> {
    const sql = `SELECT epoch_ms(created_at)::DOUBLE AS created, epoch_ms(_loaded_at)::DOUBLE AS begun FROM webhook_events
      WHERE created_at >= make_timestamp(${fromMs * 1_000})`
    const result = await queryHolder({ home: this.home, sql, timeoutMs: 10_000, maxRows: 100_000 })
    const columns: Cell[][] = [[], []]
    for await (const batch of result.batches)
      for (const [place, cells] of batch.columns.entries()) columns[place]!.push(...cells)
    const nowMs = Date.now()
    for (const [row, created] of columns[0]!.entries()) {
      const waited = this.at(Number(created))
      waited.begunMs ??= Number(columns[1]![row])
      waited.seenMs ??= nowMs
    }
  }
}
