// What surrounds an organization, and its teams, in an answer (sections 4.13 and 4.14).

import { z } from 'zod'
import { listPaging, name, parseOrFault } from './envelopes.ts'
import type { ListedPage } from './listing.ts'

export interface OrganizationEnvelope {
  /** Null where the record tells none. */
  id: string | null
}

export type TeamsEnvelope = ListedPage

const organization = z.looseObject({ data: z.looseObject({ ID: name.nullable().catch(null) }) })

const teams = z.looseObject({
  teams: z.array(z.unknown()),
  ...listPaging,
})

const team = z.looseObject({ ID: name.refine(id => id !== '') })

/** @throws ConvohouseError API_PROTOCOL where there is no organization in it */
export function readOrganizationEnvelope(parsed: unknown): OrganizationEnvelope {
  const { data } = parseOrFault(organization, parsed, 'organization')
  return { id: data.ID || null }
}

/** @throws ConvohouseError API_PROTOCOL where there is no list of teams in it */
export function readTeamsEnvelope(parsed: unknown): TeamsEnvelope {
  const page = parseOrFault(teams, parsed, 'teams')
  const ids = page.teams.flatMap(entry => team.safeParse(entry).data?.ID ?? [])
  return {
    ids,
    besides: [],
    unidentified: page.teams.length - ids.length,
    total: page.total ?? page.paging?.total ?? null,
    hasMore: page.hasMore ?? page.paging?.hasMore ?? null,
  }
}
