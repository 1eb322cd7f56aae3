// Erasures and what is still open of them: places that still have to erase the person, and why.
import { existsSync } from 'node:fs'
import type { TargetConfig } from '../config/targets.ts'
import type { Config } from '../config.ts'
import { type Erasure, erasures } from '../landing/tombstones.ts'
import type { Rows } from '../warehouse/query/rows.ts'

/** A place that has not confirmed an erasure. */
export interface OpenPlace {
  /** Name of a target, or `data folder`. */
  place: string
  why: string
}

export interface ErasureStatus extends Erasure {
  open: OpenPlace[]
}

/** Error of the last publication to each target. */
const FAILED = `SELECT target, arg_max(coalesce(error, ''), started_at) AS error FROM _publications GROUP BY target`

/** Returns the targets that contain rows: those of the configuration, and the snapshot that `serve` keeps without one. */
export const filledTargets = ({ targets, serve: { target } }: Pick<Config, 'targets' | 'serve'>): TargetConfig[] =>
  targets.some(({ name }) => name === target.name) || !existsSync(target.path) ? targets : [...targets, target]

/**
 * Returns all erasures, newest first. A target has confirmed an erasure once a publication that began after it succeeded.
 * `rows` is null if there is no warehouse.
 */
export async function readErasures(
  rows: Rows | null,
  { home, targets }: { home: string; targets: readonly TargetConfig[] },
): Promise<ErasureStatus[]> {
  const all = await erasures(home)
  const failed = new Map(
    rows === null || all.length === 0
      ? []
      : (await rows<{ target: string; error: string }>(FAILED)).map(({ target, error }) => [target, error] as const),
  )
  const openOf = ({ erasedMs, liftedMs, targets: confirmed }: Erasure): OpenPlace[] => {
    if (erasedMs === null)
      return liftedMs === null
        ? [{ place: 'data folder', why: 'the process that holds the warehouse erases it, or the next sync' }]
        : []
    return targets
      .filter(({ name }) => confirmed[name] === undefined)
      .map(({ name }) => ({ place: name, why: failed.get(name) || 'not published since' }))
  }
  return all.toReversed().map(erasure => ({ ...erasure, open: openOf(erasure) }))
}
