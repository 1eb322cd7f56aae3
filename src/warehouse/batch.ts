// A batch before it is loaded: which files are staged as they landed, which must be mended first, and with which
// undeclared paths in the schema.
import { agent } from '../catalog/agent.ts'
import { conversation } from '../catalog/conversation.ts'
import { compileInspection, needsMending } from '../catalog/inspect.ts'
import { CATALOG_VERSION } from '../catalog/records.ts'
import type { RecordType } from '../catalog/shape.ts'
import type { LoadedFile } from './bookkeeping.ts'
import type { LoadContext } from './load-context.ts'
import type { LoadablePage } from './page.ts'
import type { StageSource } from './stage.ts'
import { type MendedPage, writeMended } from './tolerant.ts'

/** The record type of each stream's pages. */
export const RECORD_OF = { conversations: conversation, agents: agent } as const

const inspections = new Map(Object.values(RECORD_OF).map(record => [record.name, compileInspection(record)]))

/** Records of a page's body. A listing of agents is a union (notes on the API, "Other endpoints"). */
function elementsOf(record: RecordType, body: Uint8Array): unknown[] {
  const parsed = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>
  if (record.name === 'conversation') return parsed.data as unknown[]
  const all = [...((parsed.agents as unknown[]) ?? []), ...((parsed.starredAgents as unknown[]) ?? [])]
  return [...new Map(all.map(element => [(element as Record<string, unknown> | null)?.ID, element])).values()]
}

/** Pages inspected under an older catalog are inspected again: what was unknown then may be declared now. */
async function inspectedAgain(context: LoadContext, record: RecordType, page: LoadablePage): Promise<LoadablePage> {
  if (page.head.catalogVersion === CATALOG_VERSION) return page
  const notes = inspections.get(record.name)!(elementsOf(record, await context.readBody(page.path)))
  return { ...page, head: { ...page.head, notes } }
}

/** Paths whose spelling differs only by case cannot stand side by side as columns; the later page is mended. */
function clashes(taken: Map<string, string>, page: LoadablePage): boolean {
  const paths = Object.keys(page.head.notes.unknown)
  if (paths.some(path => (taken.get(path.toLowerCase()) ?? path) !== path)) return true
  for (const path of paths) taken.set(path.toLowerCase(), path)
  return false
}

export interface Batch {
  record: RecordType
  files: LoadedFile[]
  sources: StageSource[]
  unknownPaths: Set<string>
  mended: MendedPage[]
}

/** Decides for each page whether it is read as it landed, or mended first. */
export async function prepareBatch(
  context: LoadContext,
  record: RecordType,
  pages: readonly LoadablePage[],
  mendAll: boolean,
): Promise<Batch> {
  const batch: Batch = { record, files: [], sources: [], unknownPaths: new Set(), mended: [] }
  const taken = new Map<string, string>()
  for (const given of pages) {
    const page = await inspectedAgain(context, record, given)
    const { head } = page
    const source = {
      agentId: head.place.agentId,
      asOfMs: head.sentAtServerMs - (record.modifiedKey ? context.mirrorLagMs : 0),
      fetchedMs: head.sentAtServerMs,
    }
    const mend = mendAll || record.extra === 'rest' || needsMending(head.notes) || clashes(taken, page)
    if (!mend) {
      for (const path of Object.keys(head.notes.unknown)) batch.unknownPaths.add(path)
      const records = head.facts?.returned ?? 0
      batch.files.push({ page, records, mended: false, unreadable: [] })
      if (records > 0) batch.sources.push({ ...source, file: page.absolutePath, bodyBytes: head.bodyBytes })
      continue
    }
    const elements = elementsOf(record, await context.readBody(page.path))
    const mended = await writeMended({ record, elements, folder: context.temporaryFolder })
    batch.mended.push(mended)
    batch.files.push({ page, records: mended.records, mended: true, unreadable: mended.unreadable })
    if (mended.records > 0) batch.sources.push({ ...source, file: mended.file, bodyBytes: mended.bytes })
  }
  return batch
}
