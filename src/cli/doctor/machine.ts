// Checks Node's version, and whether DuckDB's memory limits fit into the memory of the machine or container.
import { totalmem } from 'node:os'
import { ConvohouseError } from '../../core/errors.ts'
import { bytes, sizeOf } from '../../core/words.ts'
import type { PackageFacts } from '../package-facts.ts'
import { type Finding, fail, ok, warn } from './findings.ts'

const partsOf = (version: string): number[] => version.split('.').map(Number)

/** True if `version` (`20.19.1`) is `oldest` (`20.19`) or later. */
export function isAtLeast(version: string, oldest: string): boolean {
  const have = partsOf(version)
  const differing = partsOf(oldest).findIndex((part, at) => (have[at] ?? 0) !== part)
  return differing < 0 || (have[differing] ?? 0) > partsOf(oldest)[differing]!
}

/** `node` is a version such as `20.19.1`. */
export function nodeFinding(node: string, { version, oldestNode }: PackageFacts): Finding {
  const subject = { check: 'node' }
  if (isAtLeast(node, oldestNode))
    return ok(subject, `Node ${node} (needs ${oldestNode} or later), convohouse ${version}`)
  return fail(
    subject,
    new ConvohouseError('NODE_TOO_OLD', {
      what: `This is Node ${node}; convohouse ${version} needs ${oldestNode} or later.`,
      hint: 'Install a newer Node (https://nodejs.org), then run the same command again.',
    }),
  )
}

const SUBJECT = { check: 'memory' }

/** Memory that the process needs beyond DuckDB's limit: pages in flight, and allocations that DuckDB does not count. */
const BESIDE_BYTES = 400_000_000

interface Memory {
  machineBytes: number
  /** The limit of the container (cgroup); null without one. */
  containerBytes: number | null
}

/** Memory available to this process. */
export function memoryOf(): Memory {
  const machineBytes = totalmem()
  // An unlimited cgroup reports an absurdly large number.
  const bound = process.constrainedMemory() ?? 0
  return { machineBytes, containerBytes: bound > 0 && bound < machineBytes ? bound : null }
}

interface MemoryLimits {
  memoryLimit: string
  replayMemoryLimit: string
}

/** Checks `memoryLimit` first, then `replayMemoryLimit`; the hint names the setting that does not fit. */
export function memoryFinding(limits: MemoryLimits, { machineBytes, containerBytes }: Memory): Finding {
  const has = containerBytes ?? machineBytes
  const whose = containerBytes === null ? 'the machine has' : 'this container is limited to'
  const fits = (limit: string) => sizeOf(limit) + BESIDE_BYTES <= has
  const setting = fits(limits.memoryLimit) ? 'replayMemoryLimit' : 'memoryLimit'
  const who = setting === 'memoryLimit' || fits(limits.replayMemoryLimit) ? 'DuckDB' : 'A replay'
  const limit = who === 'DuckDB' ? limits.memoryLimit : limits.replayMemoryLimit
  const found = `${who} may use ${limit}; ${whose} ${bytes(has)}`
  if (fits(limit)) return ok(SUBJECT, found)
  const fitting = Math.max(256, Math.floor(((has - BESIDE_BYTES) * 0.8) / 1e8) * 100)
  return warn(
    SUBJECT,
    found,
    `Set \`${setting}: ${fitting}MB\` in the configuration: a process that exceeds the available memory is killed.`,
  )
}
