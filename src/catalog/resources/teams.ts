// Teams of an organization (sections 2.8 and 4.14).
import { DAY } from '../../core/time.ts'
import type { RecordType } from '../shape.ts'
import { text, texts, time } from '../shape.ts'
import type { Resource } from './resource.ts'

const team: RecordType = {
  name: 'team',
  table: 'teams',
  about: 'One row for each team of an organization, as the latest list returned it',
  id: { key: 'ID', column: 'team_id' },
  perAgent: false,
  fields: {
    ID: text('Id of the team', { column: 'team_id' }),
    orgId: text('Organization that it belongs to', { column: 'organization_id' }),
    key: text('Key of the team, as handoffs name it', { column: 'team_key' }),
    label: text('Name'),
    description: text('Description'),
    memberIds: texts('Members of the team', 'team_members', 'user_id', { pii: 'staff' }),
    ts: time('When it was created'),
    lastModified: time('Last change'),
  },
  derived: [],
  modifiedKey: null,
  extra: 'unknown',
}

export const TEAMS = {
  stream: 'teams',
  answer: 'teams',
  path: '/v3/orgs/{organizationId}/teams',
  parent: 'organizations',
  paging: ({ page, limit }) => ({ page, limit }),
  envelope: ['teams'],
  freshness: { everyMs: DAY },
  record: team,
  secrets: [],
  absence: 'not listed',
  landedAs: 'teams',
} as const satisfies Resource
