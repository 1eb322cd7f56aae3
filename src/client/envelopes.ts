// Reads the envelopes of answers tolerantly, as the notes on the API require: unknown keys are ignored, paging may be
// flat (section 4.12) or under `paging` (2.11), and missing fields are null. Only `data` and a sign of further pages
// are required. Messages name fields, never values.

import { z } from 'zod'
import type { Resource } from '../catalog/resources/resource.ts'
import { ConvohouseError } from '../core/errors.ts'
import {
  parseCount,
  type ReportedBill,
  type ReportedRateLimit,
  type ReportedUsage,
  sanitizeRateLimit,
  sanitizeUsage,
} from '../core/quota/reported-usage.ts'
import type { EchoedQuery } from './echo.ts'

export interface ExportEnvelope {
  data: unknown[]
  hasMore: boolean
  /** May be null even if `hasMore` is true; the caller decides whether that is an error. */
  nextCursor: string | null
  limit?: number
  /** Conversations scanned, including those skipped because no person has written in them. */
  scanned: number | null
  usage: ReportedUsage | null
  bill: ReportedBill | null
  rateLimit: ReportedRateLimit | null
  /** The vendor's echo of the query. */
  query: EchoedQuery | null
}

interface ErrorEnvelope {
  message: string | null
  code: string | null
  issues: string[]
}

/** Parses a count given as a number or as text; null for anything else. */
const count = z.preprocess(parseCount, z.number().nullable()).catch(null)
const text = z.string().nullable().catch(null)
/** Parses an id or a key given as text or as a number. */
const name = z.union([z.string(), z.int().transform(String)])

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...[true, 'true', 1, '1'].map(yes => [yes, true] as const),
  ...[false, 'false', 0, '0'].map(no => [no, false] as const),
])

/** Returns a boolean, even if given as text or as a number; undefined for anything else. */
const flagOf = (value: unknown): boolean | undefined =>
  FLAGS.get(typeof value === 'string' ? value.trim().toLowerCase() : value)

/** Parses `hasMore` in answers that may omit it; null if omitted. */
const flagIfAny = z.preprocess(value => flagOf(value) ?? null, z.boolean().nullable()).catch(null)

/** Fields that mark the end of a listing, beside the list or under `paging`. */
const listPaging = {
  total: count,
  hasMore: flagIfAny,
  paging: z.looseObject({ total: count, hasMore: flagIfAny }).nullish().catch(null),
}

/** Longer keys are ignored, because the key is stored with every answer. */
const MOST_KEY_CHARACTERS = 200
const periodKey = name
  .refine(key => key.length <= MOST_KEY_CHARACTERS && key.isWellFormed())
  .nullable()
  .catch(null)

/** Longer texts are truncated, because they are stored with every answer. */
const MOST_BILL_CHARACTERS = 1_000
const billText = name
  .transform(value => value.slice(0, MOST_BILL_CHARACTERS).toWellFormed())
  .nullable()
  .catch(null)

const usage = z.looseObject({ periodKey, logId: billText, summary: billText }).transform(reported => ({
  usage: sanitizeUsage(reported),
  bill: { logId: reported.logId, summary: reported.summary },
}))

const rateLimit = z.looseObject({}).transform(sanitizeRateLimit)

const paging = {
  hasMore: z.preprocess(value => flagOf(value) ?? value, z.boolean().nullish()),
  nextCursor: name.nullish(),
  limit: count,
  scannedConvoCount: count,
  mode: text,
  query: z.looseObject({}).nullish().catch(null),
}

const exportEnvelope = z.looseObject({
  success: z.literal(true).nullish(),
  data: z.array(z.unknown()),
  usage: usage.nullable().catch(null),
  rateLimit: rateLimit.nullable().catch(null),
  ...paging,
  paging: z.looseObject(paging).nullish(),
})

const errorEnvelope = z.looseObject({
  message: text,
  error: text,
  code: text,
  issues: z.array(z.looseObject({ message: text })).catch([]),
})

/**
 * Reads the answer of an export (sections 4.12 and 2.11). `selected`: ids were requested, so the answer may lack paging.
 * @throws ConvohouseError API_PROTOCOL, naming a field that is missing or has another type
 */
export function readExportEnvelope(parsed: unknown, { selected = false } = {}): ExportEnvelope {
  const flat = parseOrFault(exportEnvelope, parsed, 'export')
  const paging = flat.paging
  const mode = flat.mode ?? paging?.mode ?? null
  const cursor = flat.nextCursor !== undefined ? flat.nextCursor : paging?.nextCursor
  const more = flat.hasMore ?? paging?.hasMore
  if (more == null && cursor === undefined && !selected && mode !== 'selected') {
    // Taking this for the last page could mark an incomplete window as complete.
    throw protocolFault('export', 'it has neither hasMore nor nextCursor')
  }
  const limit = flat.limit ?? paging?.limit ?? null
  return {
    data: flat.data,
    // A cursor contradicts `hasMore: false`; following it bills nothing if nothing follows.
    hasMore: Boolean(more) || Boolean(cursor),
    nextCursor: cursor || null,
    ...(limit === null ? {} : { limit }),
    scanned: flat.scannedConvoCount ?? paging?.scannedConvoCount ?? null,
    usage: flat.usage?.usage ?? null,
    bill: flat.usage?.bill ?? null,
    rateLimit: flat.rateLimit,
    query: flat.query ?? paging?.query ?? null,
  }
}

/** Reads those fields of an error body (section 7) that are present; gateways write `error` instead of `message`. Never throws. */
export function readErrorEnvelope(parsed: unknown): ErrorEnvelope {
  const { data } = errorEnvelope.safeParse(parsed)
  const issues = (data?.issues ?? []).flatMap(issue => issue.message ?? [])
  return { message: data?.message ?? data?.error ?? null, code: data?.code ?? null, issues }
}

/** True for an error in the vendor's own envelope (section 7), false for an error of a proxy or another server. */
export function isVendorsError(parsed: unknown): boolean {
  const { message, code, issues } = (parsed ?? {}) as Record<string, unknown>
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  return isText(message) && isText(code) && (issues == null || Array.isArray(issues))
}

/** @throws ConvohouseError API_PROTOCOL, naming a field that is missing or has another type */
export function parseOrFault<T extends z.ZodType>(schema: T, parsed: unknown, answer: string): z.output<T> {
  const result = schema.safeParse(parsed)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw protocolFault(answer, `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'not readable'}`)
}

/** Returns the error of an answer that does not have the documented shape. */
function protocolFault(answer: string, what: string): ConvohouseError {
  return new ConvohouseError('API_PROTOCOL', {
    what: `The ${answer} answer is not as documented: ${what}`,
    hint: 'Check that the API address is that of the agent management API v3; if it is, report this to the vendor.',
  })
}

interface ListedRecord {
  id: string
  record: Record<string, unknown>
}

/** Facts from one page about its listing. */
export interface ListedPage {
  /** Ids in the page's part of the paged list. */
  ids: readonly string[]
  /** Ids in a second list, which every page may repeat: starred agents. */
  besides: readonly string[]
  /** Number of entries without an id. */
  unidentified: number
  /** The vendor's count of all entries; null if it reports none. */
  total: number | null
  hasMore: boolean | null
}

/** The answer to a request for a declared resource. */
export interface ResourceEnvelope extends ListedPage {
  /** Records with an id, in the order of the answer; several lists are united by id. */
  records: ListedRecord[]
}

const list = z.array(z.unknown())

/** @throws ConvohouseError API_PROTOCOL if the answer has no records at the place that the resource declares */
export function readResourceEnvelope(resource: Resource, parsed: unknown): ResourceEnvelope {
  return resource.paging === 'record' ? readRecord(resource, parsed) : readLists(resource, parsed)
}

/** Returns the records of a list that have an id, which may be a number. */
function identified(entries: readonly unknown[], { record: { id } }: Resource): ListedRecord[] {
  const schema = z.looseObject({ [id.key]: name.refine(value => value !== '') })
  return entries.flatMap(entry => {
    const { data } = schema.safeParse(entry)
    return data ? [{ id: data[id.key] as string, record: data }] : []
  })
}

/** Reads an answer that is one record. The record may lack its id, because it was requested by id. */
function readRecord(resource: Resource, parsed: unknown): ResourceEnvelope {
  const [key] = resource.envelope
  const schema = z.looseObject({ [key]: z.looseObject({}) })
  const records = identified([parseOrFault(schema, parsed, resource.answer)[key]], resource)
  return { records, ids: records.map(({ id }) => id), besides: [], unidentified: 0, total: null, hasMore: null }
}

/** Reads an answer with lists. The first list present is the paged one; every page may repeat the entries of a second list. */
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
