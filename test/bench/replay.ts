// Measures the speed from landed pages to tables: `convohouse replay` without a warehouse, measured over the entire process (opening,
// migrations, heads, drift, versions, observations, bookkeeping, checkpoint), compared with only decoding and parsing the same page bodies.
//
// Each measurement is a separate process, in turns. This matters: V8 parses the same bodies in 1.7 s in a process with a small heap, and in
// 0.95 s in one whose heap has grown to 400 MB, because it then collects garbage less often.
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { CLI, environment, inFolder } from './command.ts'
import { type LandedExport, landExport } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'

const run = promisify(execFile)
const PARSE_FLOOR = fileURLToPath(new URL('./parse-floor.js', import.meta.url))

async function writeBodies(folder: string, { bodies }: LandedExport): Promise<void> {
  await mkdir(folder)
  for (const [index, body] of bodies.entries()) await writeFile(join(folder, `${index}.json`), body)
}

async function parseSeconds(folder: string): Promise<number> {
  const { stdout } = await run(process.execPath, [PARSE_FLOOR, folder])
  return Number(stdout)
}

async function replaySeconds(home: string, { workspaceId, records }: LandedExport): Promise<number> {
  await rm(warehouseFile(home), { force: true })
  const env = environment({ home, workspaceId })
  let lastLine = ''
  const taken = await seconds(async () => {
    const { stdout } = await run(process.execPath, [CLI, 'replay', '--json'], { env })
    lastLine = stdout.trim().split('\n').at(-1)!
  })
  const loaded = (JSON.parse(lastLine) as { records: number }).records
  if (loaded !== records) throw new Error(`the replay loaded ${loaded} of ${records} records`)
  return taken
}

export const replayBench = (options: BenchOptions): Promise<Record<string, number>> =>
  inFolder(async home => {
    const landed = await landExport(home, options)
    const folder = join(home, 'bodies')
    await writeBodies(folder, landed)
    const bytes = landed.bodies.reduce((sum, body) => sum + body.length, 0)
    console.log(
      `${landed.records} records, ${rounded(bytes / 1e6, 0)} MB in ${landed.bodies.length} pages, ${rounded(bytes / landed.records / 1_000, 1)} KB a record`,
    )
    const floors: number[] = []
    const replays: number[] = []
    for (let round = 0; round < options.rounds; round++) {
      floors.push(await parseSeconds(folder))
      replays.push(await replaySeconds(home, landed))
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
  })
