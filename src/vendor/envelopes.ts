// What surrounds the records in an answer, read as tolerantly as the notes on the API ask: unknown keys pass, paging may be
// flat (section 4.12) or under `paging` (2.11), and what is missing reads as null. Only what is indispensable
// (`data`, whether there is more) is a fault when it is missing. Messages name fields, never values.

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
import { ExactNumber } from '../json/exact-json.ts'
import type { EchoedQuery } from './echo.ts'

export interface ExportEnvelope {
  data: unknown[]
  hasMore: boolean
  /** May be null although `hasMore` is true: the caller knows whether that is a fault. */
  nextCursor: string | null
  limit?: number
  /** Conversations looked at, those skipped for want of a human message included. */
  scanned: number | null
  usage: ReportedUsage | null
  bill: ReportedBill | null
  rateLimit: ReportedRateLimit | null
  mode: string | null
  source: string | null
  /** The query as the vendor says that it read it. */
  query: EchoedQuery | null
}

export interface ErrorEnvelope {
  message: string | null
  code: string | null
  issues: string[]
}

/** A count, which text may stand for; null where it is none (`soundCount`). */
const count = z.preprocess(parseCount, z.number().nullable()).catch(null)
const text = z.string().nullable().catch(null)
/** An id or a key, which a number may stand for. */
export const name = z.union([z.string(), z.int().transform(String)])

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...[true, 'true', 1, '1'].map(yes => [yes, true] as const),
  ...[false, 'false', 0, '0'].map(no => [no, false] as const),
])

/** A boolean, which text or a number may stand for; undefined where it is none. */
const flagOf = (value: unknown): boolean | undefined =>
  FLAGS.get(typeof value === 'string' ? value.trim().toLowerCase() : value)

/** `hasMore`, where a listing may do without it. */
const flagIfAny = z.preprocess(value => flagOf(value) ?? null, z.boolean().nullable()).catch(null)

/** Fields that mark the end of a listing, beside the list or under `paging`. */
export const listPaging = {
  total: count,
  hasMore: flagIfAny,
  paging: z.looseObject({ total: count, hasMore: flagIfAny }).nullish().catch(null),
}

/** A key of more characters is no key, and would be written beside every answer. */
const MOST_KEY_CHARACTERS = 200
const periodKey = name
  .refine(key => key.length <= MOST_KEY_CHARACTERS && key.isWellFormed())
  .nullable()
  .catch(null)

/** Longer ones are cut: they are written beside every answer. */
const MOST_BILL_CHARACTERS = 1_000
const billText = z
  .union([z.string(), z.number().transform(String), z.instanceof(ExactNumber).transform(({ text }) => text)])
  .transform(value => value.slice(0, MOST_BILL_CHARACTERS).toWellFormed())
  .nullable()
  .catch(null)

const bill = { logId: billText, summary: billText }
const usage = z.looseObject({ periodKey, ...bill }).transform(told => ({
  usage: sanitizeUsage(told),
  bill: { logId: told.logId, summary: told.summary },
}))

/** What identifies the bill in an answer whose numbers were read with all their digits. */
export const readBill = (parsed: unknown): ReportedBill | null =>
  z.object({ usage: z.object(bill) }).safeParse(parsed).data?.usage ?? null
const rateLimit = z.looseObject({}).transform(sanitizeRateLimit)

const paging = {
  hasMore: z.preprocess(value => flagOf(value) ?? value, z.boolean().nullish()),
  nextCursor: name.nullish(),
  limit: count,
  scannedConvoCount: count,
  mode: text,
  source: text,
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
 * Reads the answer of an export (sections 4.12 and 2.11). `selected` says that ids were asked for, where an answer needs no paging.
 * @throws ConvohouseError API_PROTOCOL, naming the field that is missing or of another type
 */
export function readExportEnvelope(parsed: unknown, { selected = false } = {}): ExportEnvelope {
  const flat = parseOrFault(exportEnvelope, parsed, 'export')
  const told = flat.paging
  const mode = flat.mode ?? told?.mode ?? null
  const cursor = flat.nextCursor !== undefined ? flat.nextCursor : told?.nextCursor
  const more = flat.hasMore ?? told?.hasMore
  if (more == null && cursor === undefined && !selected && mode !== 'selected') {
    // Reading this as "the last page" would call a window complete that may not be.
    throw protocolFault('export', 'it has neither hasMore nor nextCursor')
  }
  const limit = flat.limit ?? told?.limit ?? null
  return {
    data: flat.data,
    hasMore: more ?? Boolean(cursor),
    nextCursor: cursor || null,
    ...(limit === null ? {} : { limit }),
    scanned: flat.scannedConvoCount ?? told?.scannedConvoCount ?? null,
    usage: flat.usage?.usage ?? null,
    bill: flat.usage?.bill ?? null,
    rateLimit: flat.rateLimit,
    mode,
    source: flat.source ?? told?.source ?? null,
    query: flat.query ?? told?.query ?? null,
  }
}

/** Reads an error body (section 7) as far as it is one; gateways in between say `error` for `message`. Never throws. */
export function readErrorEnvelope(parsed: unknown): ErrorEnvelope {
  const { data } = errorEnvelope.safeParse(parsed)
  const issues = (data?.issues ?? []).flatMap(issue => issue.message ?? [])
  return { message: data?.message ?? data?.error ?? null, code: data?.code ?? null, issues }
}

/** True for an error in the vendor's own envelope (section 7): what proxies and other servers say looks otherwise. */
export function isVendorsError(parsed: unknown): boolean {
  const { message, code, issues } = (parsed ?? {}) as Record<string, unknown>
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  return isText(message) && isText(code) && (issues == null || Array.isArray(issues))
}

/** @throws ConvohouseError API_PROTOCOL, naming the field that is missing or of another type */
export function parseOrFault<T extends z.ZodType>(schema: T, parsed: unknown, answer: string): z.output<T> {
  const result = schema.safeParse(parsed)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw protocolFault(answer, `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'not readable'}`)
}

/** An answer of another shape than documented. */
export function protocolFault(answer: string, what: string): ConvohouseError {
  return new ConvohouseError('API_PROTOCOL', {
    what: `The ${answer} answer is not as documented: ${what}`,
    hint: 'Check that the API address is that of the agent management API v3; if it is, report this to the vendor.',
  })
}

export interface ListedRecord {
  id: string
  record: Record<string, unknown>
}

/** What a page says about its listing. */
export interface ListedPage {
  /** Ids of the list that is paged. */
  ids: readonly string[]
  /** Ids that may come on every page in addition: starred agents. */
  besides: readonly string[]
  /** Entries without an id. */
  unidentified: number
  /** As the vendor counts them; null where it does not. */
  total: number | null
  hasMore: boolean | null
}

/** The answer to a request for a declared resource. */
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
