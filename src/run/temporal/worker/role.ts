// What a worker does: leases, the warehouse and the workflows, or all of it.
export const ROLES = ['export', 'warehouse', 'all'] as const
export type Role = (typeof ROLES)[number]
