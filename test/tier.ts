// `npm test` runs a part of the rounds of tests that depend on chance, time or size; `npm run test:deep` runs them all.

export const isDeep = process.env.TEST_TIER === 'deep'

/** Returns the number of rounds: from the environment variable of that name, or else by the tier. */
export const rounds = (variable: string, { usual, deep }: { usual: number; deep: number }): number =>
  Number(process.env[variable] ?? (isDeep ? deep : usual))
