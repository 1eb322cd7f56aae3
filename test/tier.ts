// `npm test` makes a part of the rounds that chance, a clock or size calls for; `npm run test:deep` makes them all.

export const isDeep = process.env.TEST_TIER === 'deep'

/** How many rounds: as the environment variable of that name says, or else the tier. */
export const rounds = (variable: string, { usual, deep }: { usual: number; deep: number }): number =>
  Number(process.env[variable] ?? (isDeep ? deep : usual))
