// The people of the workspace (ID, name, email), and the organizations and teams that conversations are handed to.

export type StaffMember = readonly [userId: string, name: string, email: string]

export const STAFF: readonly StaffMember[] = [
  ['user_5f2a', 'Sam Rivera', 'sam.rivera@example.com'],
  ['user_81cc', 'Kateřina Dvořáková', 'katerina@example.com'],
  ['user_b07e', 'Yūki "YK" Tanaka', 'yuki.tanaka@example.com'],
]

export const ORGANIZATIONS = [
  { id: 'org_alpha', name: 'Alpha Service' },
  { id: 'org_beta', name: 'Bêta & Fils' },
] as const

export const TEAMS = [
  { id: 'team_01', key: 'sales', label: 'Sales', organizationId: 'org_alpha' },
  { id: 'team_02', key: 'support', label: 'Support', organizationId: 'org_alpha' },
  { id: 'team_03', key: 'billing-eu', label: 'Billing – EU', organizationId: 'org_beta' },
] as const
