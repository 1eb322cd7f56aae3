import { join } from 'node:path'

/** Returns the file of a landed page, for tests that damage or move it. */
export const landedFile = (home: string, address: string): string => join(home, 'landing', address)
