// Changes to an existing schedule. A file of its own: the CLI lists them without loading the Temporal client.
export const CHANGES = ['pause', 'resume', 'trigger', 'delete'] as const
export type Change = (typeof CHANGES)[number]
