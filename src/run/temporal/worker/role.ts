// Worker roles: `export` runs leases, `warehouse` runs workflows, planning and loading, `all` both.
export const ROLES = ['export', 'warehouse', 'all'] as const
export type Role = (typeof ROLES)[number]
