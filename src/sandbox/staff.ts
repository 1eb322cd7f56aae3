// The people of the workspace: id, name, email.

export type StaffMember = readonly [userId: string, name: string, email: string]

export const STAFF: readonly StaffMember[] = [
  ['user_5f2a', 'Sam Rivera', 'sam.rivera@example.com'],
  ['user_81cc', 'Kateřina Dvořáková', 'katerina@example.com'],
  ['user_b07e', 'Yūki "YK" Tanaka', 'yuki.tanaka@example.com'],
]
