// Checks the warehouse: whether it exists and opens, which process holds it, its version, and files that killed processes left behind.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isCode } from '../../core/errors.ts'
import { bytes } from '../../core/words.ts'
import { fileBytes, warehouseSize } from '../../files/stored-bytes.ts'
import { REBUILT } from '../../run/rebuild.ts'
import { expectLayout } from '../../warehouse/maintenance/create-tables.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { openReader } from '../../warehouse/query/reader.ts'
import { type Rows, withWarehouseRows } from '../../warehouse/query/rows.ts'
import type { Storage } from '../flags/configuration.ts'
import { examine, type Finding, fail, ok, skip, warn } from './findings.ts'

/** `free`: no process holds the warehouse, and it opens. `pid`: the process that holds it; null if the system does not report it. */
type Holding = { state: 'missing' } | { state: 'free' } | { state: 'held'; pid: number | null; error: unknown }

/** Opens the warehouse for reading, to find out whether another process holds it. @throws HOME_UNUSABLE if it is damaged */
export async function findHolder({ home, memoryLimit, threads }: Storage): Promise<Holding> {
  try {
    const reader = await openReader({ file: warehouseFile(home), memoryLimit, threads })
    reader.close()
    return { state: 'free' }
  } catch (error) {
    if (isCode(error, 'WAREHOUSE_MISSING')) return { state: 'missing' }
    if (!isCode(error, 'WAREHOUSE_LOCKED')) throw error
    const { pid } = error.facts
    return { state: 'held', pid: typeof pid === 'number' ? pid : null, error }
  }
}

const holderText = (pid: number | null): string => (pid === null ? 'another process' : `process ${pid}`)

const SUBJECT = { check: 'warehouse' }
const LAYOUT = { check: 'layout' }

interface WarehouseFound {
  findings: Finding[]
  /** Null if unknown, because the file does not open. */
  holding: Holding | null
  /** Whether the warehouse can be queried. */
  answers: boolean
}

function missing(storage: Storage, landedPages: number): Finding {
  const file = warehouseFile(storage.home)
  if (landedPages === 0) return ok(SUBJECT, `${file} does not exist yet; the first sync creates it`)
  const hint = 'Run `convohouse replay`, which rebuilds it from the landing without a request.'
  return warn(SUBJECT, `${file} is missing, although pages have landed`, hint)
}

async function opened(
  rows: Rows,
  storage: Storage,
  holding: Exclude<Holding, { state: 'missing' }>,
): Promise<WarehouseFound> {
  const file = `${warehouseFile(storage.home)}, ${bytes(await warehouseSize(warehouseFile(storage.home)))}`
  try {
    await rows('SELECT 1')
  } catch (error) {
    return { findings: [fail(SUBJECT, holding.state === 'held' ? holding.error : error)], holding, answers: false }
  }
  const how = holding.state === 'free' ? 'opens' : `is held by ${holderText(holding.pid)}, which answers queries`
  const found = ok(SUBJECT, `${file}: ${how}`)
  const layout = await expectLayout(rows, warehouseFile(storage.home)).then(
    number => ok(LAYOUT, `layout ${number}, that of this version`),
    error => fail(LAYOUT, error),
  )
  return { findings: [found, layout], holding, answers: true }
}

/** `landedPages`: a missing warehouse is a problem only if pages have landed. */
export async function warehouseChecks(storage: Storage, landedPages: number): Promise<WarehouseFound> {
  try {
    const holding = await findHolder(storage)
    if (holding.state === 'missing') return { findings: [missing(storage, landedPages)], holding, answers: false }
    return await withWarehouseRows(storage, rows => opened(rows, storage, holding))
  } catch (error) {
    return { findings: [fail(SUBJECT, error)], holding: null, answers: false }
  }
}

const LOCKS = { check: 'locks' }

interface Leftover {
  file: string
  /** What the next sync does with the file. */
  cleanup: string
}

/** Files that a killed process left behind. */
const leftovers = (home: string): Leftover[] => [
  ...(existsSync(join(home, 'query.sock')) ? [{ file: 'its query socket', cleanup: 'removes the socket' }] : []),
  ...(existsSync(`${warehouseFile(home)}.wal`) ? [{ file: 'its write-ahead log', cleanup: 'applies the log' }] : []),
]

const leftoversText = (left: readonly Leftover[]): string => {
  const joined = (part: keyof Leftover) => left.map(one => one[part]).join(' and ')
  return `a killed process left ${joined('file')}; the next sync ${joined('cleanup')}, and nothing is lost`
}

export function locksCheck(home: string, holding: Holding | null): Promise<Finding[]> {
  return examine(LOCKS, async () => {
    if (holding === null) return [skip(LOCKS, 'not checked: the warehouse does not open')]
    if (holding.state === 'held')
      return [ok(LOCKS, `held by ${holderText(holding.pid)}; another sync is refused until it is released`)]
    const halfBuilt = await fileBytes(warehouseFile(home, REBUILT))
    if (halfBuilt > 0) {
      const hint = 'The old warehouse is unchanged. `convohouse replay` starts over and removes the file.'
      return [warn(LOCKS, `${REBUILT} (${bytes(halfBuilt)}) was left by a killed replay`, hint)]
    }
    const left = leftovers(home)
    if (left.length === 0) return [ok(LOCKS, 'no process holds the warehouse')]
    return [ok(LOCKS, `no process holds the warehouse; ${leftoversText(left)}`)]
  })
}
