// What is wrong with settings that somebody sent, in words.
import type { ZodError } from 'zod'

/** One text for each thing that is wrong, beginning with where it is. */
export function issueTexts(error: ZodError): string[] {
  return error.issues.map(({ path, message }) => [...path.map(String), message].join(': '))
}
