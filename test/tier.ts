// `npm test` runs a part of the rounds of tests that depend on chance, time or size; `npm run test:deep` runs them all.

import { RESOURCE_NAMES } from '../src/config/resources.ts'

export const isDeep = process.env.TEST_TIER === 'deep'

/** All resources, or one of each kind of owner: the others are most of the requests of a small first sync. */
export const RESOURCES = isDeep ? RESOURCE_NAMES : ['organizations', 'tools', 'audit_log', 'custom_metrics']

/** Returns the number of rounds: from the environment variable of that name, or else by the tier. */
export const rounds = (variable: string, { usual, deep }: { usual: number; deep: number }): number =>
  Number(process.env[variable] ?? (isDeep ? deep : usual))
