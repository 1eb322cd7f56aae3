// Erasures and what is still open of them: places that still have to erase the person, and why.
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

interface Published {
  target: string
  /** When the last successful publication after an erasure began, ms; null for none. */
  succeededMs: number | null
  /** The error of the last publication. */
  error: string | null
}

const PUBLISHED = `SELECT target, epoch_ms(max(started_at) FILTER (ended_at IS NOT NULL AND error IS NULL))::DOUBLE AS "succeededMs",
  arg_max(coalesce(error, ''), started_at) AS error FROM _publications GROUP BY target`

/**
 * Returns all erasures, newest first. A target has confirmed an erasure once a publication that began after it succeeded.
 * `rows` is null if there is no warehouse.
 */
export async function readErasures(
  rows: Rows | null,
  { home, targets }: Pick<Config, 'home' | 'targets'>,
): Promise<ErasureStatus[]> {
  const all = await erasures(home)
  const published = new Map(
    rows === null || all.length === 0 ? [] : (await rows<Published>(PUBLISHED)).map(one => [one.target, one] as const),
  )
  const openOf = ({ erasedMs, liftedMs }: Erasure): OpenPlace[] => {
    if (erasedMs === null)
      return liftedMs === null
        ? [{ place: 'data folder', why: 'the process that holds the warehouse erases it, or the next sync' }]
        : []
    return targets.flatMap(({ name }) => {
      const { succeededMs = null, error = null } = published.get(name) ?? {}
      if (succeededMs !== null && succeededMs >= erasedMs) return []
      return [{ place: name, why: error || 'not published since' }]
    })
  }
  return all.toReversed().map(erasure => ({ ...erasure, open: openOf(erasure) }))
}
