// What may be done to a schedule that is there.
export const CHANGES = ['pause', 'resume', 'trigger', 'delete'] as const
export type Change = (typeof CHANGES)[number]
