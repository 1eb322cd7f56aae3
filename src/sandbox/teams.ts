// The organizations that conversations are handed to, and their teams: they are there all the time.

export const ORGANIZATIONS = [
  { id: 'org_alpha', name: 'Alpha Service' },
  { id: 'org_beta', name: 'Bêta & Fils' },
] as const

export interface TeamOf {
  id: string
  key: string
  label: string
}

export const TEAMS = [
  { id: 'team_01', key: 'sales', label: 'Sales', organizationId: 'org_alpha' },
  { id: 'team_02', key: 'support', label: 'Support', organizationId: 'org_alpha' },
  { id: 'team_03', key: 'billing-eu', label: 'Billing – EU', organizationId: 'org_beta' },
] as const satisfies readonly (TeamOf & { organizationId: string })[]
