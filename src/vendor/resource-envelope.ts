// The envelope of a resource's answer, read by the declaration of the resource.

import { z } from 'zod'
import type { Resource } from '../catalog/resources/resource.ts'
import { listPaging, name, parseOrFault, protocolFault } from './envelopes.ts'
import type { ListedPage } from './listing.ts'

export interface ListedRecord {
  id: string
  record: Record<string, unknown>
}

export interface ResourceEnvelope extends ListedPage {
  /** Records that have an id, in the order of the answer; of several lists the union by id. */
  records: ListedRecord[]
}

const list = z.array(z.unknown())

/** @throws ConvohouseError API_PROTOCOL where the answer holds no records where the declaration says */
export function readResourceEnvelope(resource: Resource, parsed: unknown): ResourceEnvelope {
  return resource.paging === 'record' ? readRecord(resource, parsed) : readLists(resource, parsed)
}

/** Records of a list that have an id; a number may stand for it. */
function identified(entries: readonly unknown[], { record: { id } }: Resource): ListedRecord[] {
  const schema = z.looseObject({ [id.key]: name.refine(value => value !== '') })
  return entries.flatMap(entry => {
    const { data } = schema.safeParse(entry)
    return data ? [{ id: data[id.key] as string, record: data }] : []
  })
}

/** One record, which may do without its id: it was requested by it. */
function readRecord(resource: Resource, parsed: unknown): ResourceEnvelope {
  const [key] = resource.envelope
  const schema = z.looseObject({ [key]: z.looseObject({}) })
  const records = identified([parseOrFault(schema, parsed, resource.answer)[key]], resource)
  return { records, ids: records.map(({ id }) => id), besides: [], unidentified: 0, total: null, hasMore: null }
}

/** The first list that is there is the one that is paged; entries of a second may come with every page. */
function readLists(resource: Resource, parsed: unknown): ResourceEnvelope {
  const { answer, envelope } = resource
  const isOptional = envelope.length > 1
  const lists = Object.fromEntries(envelope.map(key => [key, isOptional ? list.nullish() : list]))
  const body = parseOrFault(z.looseObject({ ...lists, ...listPaging }), parsed, answer)
  const [paged, ...others] = envelope.flatMap(key => (body[key] ? [body[key] as unknown[]] : []))
  if (!paged) throw protocolFault(answer, `it has neither ${envelope.join(' nor ')}`)
  const own = identified(paged, resource)
  const besides = identified(others.flat(), resource)
  const byId = new Map<string, ListedRecord>()
  for (const record of [...own, ...besides]) if (!byId.has(record.id)) byId.set(record.id, record)
  return {
    records: [...byId.values()],
    ids: own.map(({ id }) => id),
    besides: besides.map(({ id }) => id),
    unidentified: paged.length - own.length + others.flat().length - besides.length,
    total: body.total ?? body.paging?.total ?? null,
    hasMore: body.hasMore ?? body.paging?.hasMore ?? null,
  }
}
