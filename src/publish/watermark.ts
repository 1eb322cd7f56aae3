// The watermark of a target: the state of the warehouse that it contains, and the policy. The publication's own transaction
// stores it in the target, so that wiping or restoring the target, or writing it from another warehouse, is noticed.
import { quoteText } from '../catalog/layout.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { Watermark } from '../warehouse/changes/log-changes.ts'
import type { Writer } from '../warehouse/connection.ts'

export interface TargetWatermark extends Watermark {
  /** Owner of the target (`ownerOf`). */
  owner: string
  /** Id of the publication that wrote it. */
  publicationId: string
  /** Hash of the rows and values that are published (`selection.ts`). */
  policy: string
  /** Time when its rows were read from the warehouse: the target is as fresh as the warehouse was then. ISO-8601 UTC. */
  asOf: string
  /** True if history that was asked for is not read yet, so that figures of earlier days may grow. Not read back. */
  isBackfillUnfinished?: boolean | null
}

/** The target's table with the watermark, in one row. */
export const WATERMARK_TABLE = '_publication'

/** Returns the SQL of the values of a watermark's row, whose time is TIMESTAMPTZ. */
export const watermarkValues = ({
  owner,
  epoch,
  seq,
  publicationId,
  policy,
  asOf,
  isBackfillUnfinished = null,
}: TargetWatermark): string =>
  [
    ...[quoteText(owner), quoteText(epoch), String(seq), quoteText(publicationId), quoteText(policy)],
    `${quoteText(asOf)}::TIMESTAMPTZ`,
    String(isBackfillUnfinished),
  ].join(', ')

/** Returns the statements that store a watermark in the attached database `target`. */
export const storeWatermark = (watermark: TargetWatermark): string[] => [
  `CREATE OR REPLACE TABLE target.main.${WATERMARK_TABLE}
    (owner VARCHAR, epoch VARCHAR, seq BIGINT, publication_id VARCHAR, policy VARCHAR, as_of TIMESTAMPTZ, backfill_unfinished BOOLEAN)`,
  `INSERT INTO target.main.${WATERMARK_TABLE} VALUES (${watermarkValues(watermark)})`,
]

/** Reads the watermark from a table of a database that DuckDB has attached. */
export async function readStoredWatermark(
  { rows }: Pick<Writer, 'rows'>,
  table: string,
): Promise<TargetWatermark | null> {
  const [row] = await rows<TargetWatermark & { seq: string }>(`
    SELECT owner, epoch, seq::VARCHAR AS seq, publication_id AS "publicationId", policy, strftime(as_of AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "asOf"
    FROM ${table}`)
  return row ? { ...row, seq: Number(row.seq) } : null
}

export const isSame = (a: TargetWatermark | null, b: TargetWatermark | null): boolean =>
  a?.publicationId === b?.publicationId && a?.epoch === b?.epoch && a?.seq === b?.seq

export const changedTarget = (place: string): ConvohouseError =>
  new ConvohouseError('TARGET_CHANGED', {
    what: `${place} was changed by something else during a publication, which was discarded.`,
    hint: 'Nothing to do: the next publication starts from the present state of the target.',
  })

/** The error of a target that its owner has changed: a delta would keep the change, a refill undoes it. */
export const changedByOwner = (what: string, target: string): ConvohouseError =>
  new ConvohouseError('TARGET_CHANGED', {
    what,
    hint: `Run \`convohouse publish ${target} --refill\`, which writes the target from empty.`,
  })

/** @throws TARGET_CHANGED if the target no longer has the watermark that the package starts from */
export function expectBase(place: string, stored: TargetWatermark | null, base: TargetWatermark | null): void {
  if (!isSame(stored, base)) throw changedTarget(place)
}

/** Returns the members of a watermark in a JSON file. */
export const watermarkFields = ({
  publicationId,
  asOf,
  isBackfillUnfinished = null,
  ...rest
}: TargetWatermark): object => ({
  ...rest,
  publication_id: publicationId,
  as_of: asOf,
  backfill_unfinished: isBackfillUnfinished,
})

/** Returns the watermark with these members; null if one is missing or has another type. */
export function watermarkOf(fields: Record<string, unknown>): TargetWatermark | null {
  const { owner, publication_id: publicationId, as_of: asOf, epoch, seq, policy } = fields
  const texts = [owner, publicationId, asOf, epoch, policy].every(value => typeof value === 'string')
  return texts && Number.isSafeInteger(seq)
    ? ({ owner, publicationId, asOf, epoch, seq, policy } as TargetWatermark)
    : null
}
