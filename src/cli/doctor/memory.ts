// DuckDB's memory limit against the memory that there is: the machine's, or what its container may have of it.
import { totalmem } from 'node:os'
import { bytes } from '../terminal/words.ts'
import { type Finding, ok, warn } from './finding.ts'

const SUBJECT = { check: 'memory' }

const UNITS: Record<string, number> = {
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Bytes of a size as DuckDB writes it: `1GB`, `512 MiB`. */
export function sizeOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)\s*([a-z]+)$/i.exec(text.trim()) ?? []
  return Number(number) * (UNITS[unit.toLowerCase()] ?? 1)
}

/** What the process itself takes beside DuckDB: pages under way, and what DuckDB does not count. */
const BESIDE_BYTES = 400_000_000

export interface Memory {
  machineBytes: number
  /** What the container (cgroup) may have; null where it is not bounded. */
  containerBytes: number | null
}

/** Of this process. */
export function memoryOf(): Memory {
  const machineBytes = totalmem()
  // An unbounded cgroup tells an absurdly large number.
  const bound = process.constrainedMemory() ?? 0
  return { machineBytes, containerBytes: bound > 0 && bound < machineBytes ? bound : null }
}

export function memoryFinding(memoryLimit: string, { machineBytes, containerBytes }: Memory): Finding {
  const has = containerBytes ?? machineBytes
  const whose = containerBytes === null ? 'the machine has' : 'this container may have'
  const found = `DuckDB may take ${memoryLimit}; ${whose} ${bytes(has)}`
  if (sizeOf(memoryLimit) + BESIDE_BYTES <= has) return ok(SUBJECT, found)
  const fitting = Math.max(256, Math.floor(((has - BESIDE_BYTES) * 0.8) / 1e8) * 100)
  return warn(
    SUBJECT,
    found,
    `Set \`memoryLimit: ${fitting}MB\` in the configuration: a process that takes more than there is, is killed.`,
  )
}
