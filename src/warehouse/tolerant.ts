// The tolerant path of loading: a page whose records cannot be staged as they are is taken apart record by record and
// written anew, in declared types only, to a temporary file that the same SQL reads.
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonType } from '../catalog/inspect.ts'
import { mendRecord } from '../catalog/mend.ts'
import type { RecordType } from '../catalog/shape.ts'
import { wellFormedJson } from './well-formed.ts'

export interface MendedPage {
  file: string
  bytes: number
  records: number
  issues: { path: string; seen: string }[]
  /** Elements that are no record: their position in the page, from 1, and why. */
  unreadable: { element: number; reason: string }[]
}

/** Mends `elements` into a file below `folder`. The caller removes it when the batch is loaded. */
export async function writeMended(options: {
  record: RecordType
  elements: readonly unknown[]
  folder: string
}): Promise<MendedPage> {
  const { record, elements, folder } = options
  const issues: MendedPage['issues'] = []
  const unreadable: MendedPage['unreadable'] = []
  const records: unknown[] = []
  for (const [index, element] of elements.entries()) {
    const mended = mendRecord(record, element)
    if (mended) {
      records.push(mended.record)
      issues.push(...mended.issues)
    } else unreadable.push({ element: index + 1, reason: `${jsonType(element)} without a usable ${record.id.key}` })
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `mended-${process.pid}-${randomBytes(6).toString('hex')}.json`)
  const text = wellFormedJson({ data: records })
  await writeFile(file, text, { mode: 0o600 })
  return { file, bytes: Buffer.byteLength(text), records: records.length, issues, unreadable }
}

export const removeMended = (pages: readonly MendedPage[]): Promise<unknown> =>
  Promise.all(pages.map(page => rm(page.file, { force: true })))
