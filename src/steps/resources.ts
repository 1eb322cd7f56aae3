// The names behind ids: organizations and their teams, asked for when an id is first known, when it is known to have changed, and
// again each day. At the end of a sync, since what it has loaded tells ids. These requests are not metered, and are made one
// after another.
//
//   known ids ──▶ due? ──▶ organization ──▶ land ──▶ its teams ──▶ land ──▶ load
//
// When an id was last asked for is told by the name of the page that landed, whatever was answered: also of one that nobody
// knows. What the vendor fails to answer leaves none, and is asked by the next sync.
import type { Failure } from '../../workflows/steps.ts'
import { emptyNotes } from '../catalog/inspect.ts'
import { CATALOG_VERSION } from '../catalog/records.ts'
import { isCode } from '../core/errors.ts'
import { compactTimestamp, DAY } from '../core/time.ts'
import { caselessPathSegment } from '../files/path-segment.ts'
import { writeExactly } from '../json/exact-json.ts'
import type { PageHead } from '../landing/page.ts'
import { isSegment } from '../vendor/address.ts'
import type { Receipt } from '../vendor/exchange.ts'
import { type CutOff, readListing } from '../vendor/listing.ts'
import { countRemoved } from '../vendor/redaction.ts'
import { VendorError } from '../vendor/vendor-error.ts'
import {
  type AskedStream,
  type KnownOrganization,
  knownOrganizations,
  lastAsked,
} from '../warehouse/planning/known-ids.ts'
import { endOf } from './agents.ts'
import { failureOf } from './fetch.ts'
import type { Planning } from './prepare.ts'

/** Organizations that one run asks about; the rest is the next one's. */
const ASKED_A_RUN = 50
const FRESH_MS = DAY

/** How the windows of a stream are named, behind the time. */
const nameOf: Record<AskedStream, (id: string) => string> = {
  organizations: id => `org-${caselessPathSegment(id)}`,
  teams: id => `teams-${caselessPathSegment(id)}`,
}

interface Due {
  id: string
  /** False: it was told lately, and its teams were not. */
  itself: boolean
  teams: boolean
}

async function known({ warehouse, workspaceId, settings }: Planning): Promise<KnownOrganization[]> {
  const named = await knownOrganizations(warehouse.writer, workspaceId)
  const ids = new Set(named.map(({ id }) => id))
  const configured = settings.organizations.filter(id => !ids.has(id)).map(id => ({ id, told: false, changedMs: null }))
  return [...configured, ...named].filter(({ id }) => isSegment(id))
}

/** Those that nobody has asked for lately, organizations before the teams of others. */
async function dueNow(fetching: Planning): Promise<Due[]> {
  const { warehouse, workspaceId, clock, now } = fetching
  const organizations = await known(fetching)
  if (organizations.length === 0) return []
  const beforeMs = clock.at(now()) - FRESH_MS
  const asked = {
    organizations: await lastAsked(warehouse.writer, workspaceId, 'organizations'),
    teams: await lastAsked(warehouse.writer, workspaceId, 'teams'),
  }
  const isDue = (stream: AskedStream, id: string, changedMs: number | null = null) =>
    (asked[stream].get(nameOf[stream](id)) ?? Number.NEGATIVE_INFINITY) <= Math.max(beforeMs, changedMs ?? 0)
  const due = organizations.map(({ id, told, changedMs }) => {
    const itself = isDue('organizations', id, changedMs)
    return { id, itself, teams: (itself || told) && isDue('teams', id) }
  })
  return [...due.filter(({ itself }) => itself), ...due.filter(({ itself, teams }) => !itself && teams)]
}

interface Told {
  receipt: Receipt
  parsed: unknown
  droppedPaths: readonly string[]
  /** Of a page of teams: as it was asked for. */
  query?: Record<string, string>
}

interface Answered {
  pages: readonly Told[]
  /** Why there may be more; null where it is known that there is not. */
  cutOff: CutOff | null
}

/** Paths as they are inside of a record. */
const insideRecord = (path: string): string => path.replace(/^(?:data|teams\[\d+\])\./, '')

/** Lands the pages of one answer, the last one first: it is whole when its first page is there. */
async function land(fetching: Planning, stream: AskedStream, id: string, answered: Answered): Promise<void> {
  const { clock, landing, now, pending, run, workspaceId } = fetching
  const { pages } = answered
  for (const { receipt } of pages) clock.tell(receipt)
  const window = `${compactTimestamp(clock.at(now()))}-${nameOf[stream](id)}`
  const path = `/v3/orgs/${encodeURIComponent(id)}`
  const landed: [string, PageHead][] = []
  for (const [index, { receipt, parsed, droppedPaths, query = {} }] of [...pages.entries()].reverse()) {
    const body = Buffer.from(writeExactly(parsed))
    const head: PageHead = {
      v: 1,
      catalogVersion: CATALOG_VERSION,
      workspaceId,
      place: { stream, agentId: null, window, generation: 1, sequence: index + 1 },
      organizationId: id,
      run,
      lease: null,
      request: { path: stream === 'teams' ? `${path}/teams` : path, query },
      status: receipt.status,
      sentAtMs: receipt.sentAtMs,
      receivedAtMs: receipt.receivedAtMs,
      sentAtServerMs: clock.at(receipt.sentAtMs),
      bodyBytes: body.length,
      ...endOf(answered, index),
      facts: null,
      usage: null,
      rateLimit: null,
      notes: { ...emptyNotes(), removed: countRemoved(droppedPaths.map(insideRecord)) },
    }
    landed.unshift([await landing.land(head, body), head])
  }
  for (const [file, head] of landed) pending.add(file, head)
}

async function askTeams({ vendor, signal }: Planning, organizationId: string): Promise<Answered> {
  const { pages, cutOff } = await readListing({
    ask: page => vendor.organizationTeams({ organizationId, page, signal }),
    read: answer => answer.envelope,
    isPaged: answer => answer.isPaged,
  })
  const told = pages.map(({ answer, number }) => ({
    ...answer,
    query: (answer.isPaged ? { page: String(number) } : {}) as Record<string, string>,
  }))
  return { pages: told, cutOff }
}

/** Asks for one organization, and its teams. */
async function ask(fetching: Planning, { id, itself, teams }: Due): Promise<void> {
  if (itself) {
    const answer = await fetching.vendor.organization({ organizationId: id, signal: fetching.signal })
    await land(fetching, 'organizations', id, { pages: [answer], cutOff: null })
    if (answer.envelope === null) return
  }
  if (teams) await land(fetching, 'teams', id, await askTeams(fetching, id))
}

/** What one id is refused for says nothing of the next one; a 404 of somebody else does. */
const isOfThisOne = (error: VendorError): boolean =>
  isCode(error, 'API_BAD_REQUEST', 'API_PROTOCOL') && error.facts.status !== 404

/**
 * Asks for organizations and teams that are due; they have landed, and are among the pending pages, when it resolves. What the
 * vendor fails to answer is left for the next run. @returns why, where it fails for all; @throws what the disk refuses
 */
export async function askForNames(fetching: Planning): Promise<Failure | null> {
  const { signal, stopping } = fetching
  for (const due of (await dueNow(fetching)).slice(0, ASKED_A_RUN)) {
    if (signal.aborted || stopping?.aborted) return null
    try {
      await ask(fetching, due)
    } catch (error) {
      if (!(error instanceof VendorError)) throw error
      if (isCode(error, 'INTERRUPTED')) return null
      if (!isOfThisOne(error)) return failureOf(error)
    }
  }
  return null
}
