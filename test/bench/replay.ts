// How fast landed pages become tables: `replay` into an empty warehouse, everything included (opening, migrating, heads,
// drift, versions, observations, bookkeeping, checkpoint), against only decoding and parsing the same page bodies.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { replay } from '../../src/run/replay.ts'
import { warehouseFile } from '../../src/warehouse/open.ts'
import { landExport } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'

function parseAll(bodies: readonly Buffer[]): void {
  const decoder = new TextDecoder()
  for (const body of bodies) JSON.parse(decoder.decode(body))
}

export async function replayBench(options: BenchOptions): Promise<Record<string, number>> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  try {
    const landed = await landExport(home, options)
    const bytes = landed.bodies.reduce((sum, body) => sum + body.length, 0)
    console.log(
      `${landed.records} records, ${rounded(bytes / 1e6, 0)} MB in ${landed.bodies.length} pages, ${rounded(bytes / landed.records / 1_000, 1)} KB a record`,
    )
    const env = {
      CONVOHOUSE_API_URL: 'http://127.0.0.1:9',
      CONVOHOUSE_API_TOKEN: 'none',
      CONVOHOUSE_WORKSPACE: landed.workspaceId,
      CONVOHOUSE_HOME: home,
    }
    const config = readConfig({ env })
    const floors: number[] = []
    const replays: number[] = []
    for (let round = 0; round < options.rounds; round++) {
      floors.push(await seconds(() => parseAll(landed.bodies)))
      await rm(warehouseFile(home), { force: true })
      replays.push(await seconds(() => replay({ config })))
      console.log(
        `round ${round + 1}: parsing alone ${rounded(floors.at(-1)!)} s, replay ${rounded(replays.at(-1)!)} s`,
      )
    }
    const [floor, took] = [median(floors), median(replays)]
    return {
      ratioToParseFloor: rounded(took / floor),
      recordsPerSecond: Math.round(landed.records / took),
      records: landed.records,
      floorSeconds: rounded(floor, 3),
      replaySeconds: rounded(took, 3),
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
