// Problems of a configuration as text, each with the path of its setting.
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

interface Problem {
  path: readonly PropertyKey[]
  /** The problem, in words that follow the setting's name in the message. */
  words: string
}

const KINDS: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of settings',
}

const kindOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction'
  return KINDS[Array.isArray(value) ? 'array' : typeof value] ?? 'something else'
}

/** Replaces zod's default messages; our own messages are kept. */
function wordsOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type': {
      if (!issue.message.startsWith('Invalid input')) return issue.message
      const kind = KINDS[issue.expected] ?? issue.expected
      if (issue.path.length === 0 && issue.input === null) return 'is empty'
      return issue.input === undefined ? `is missing: give ${kind}` : `must be ${kind}, not ${kindOf(issue.input)}`
    }
    case 'too_small':
      return issue.message.startsWith('Too small') ? tooSmall(issue) : issue.message
    case 'too_big':
      return issue.message.startsWith('Too big') ? `must be ${issue.maximum} at most` : issue.message
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    default:
      return issue.message
  }
}

const tooSmall = ({ origin, minimum }: Extract<Issue, { code: 'too_small' }>): string =>
  origin === 'string' && Number(minimum) === 1 ? 'must not be empty' : `must be ${minimum} or more`

/** Returns one problem per issue, or per setting if an issue lists several unknown settings. */
export const problemsOf = (issues: readonly Issue[]): Problem[] =>
  issues.flatMap((issue): Problem[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map(key => ({ path: [...issue.path, key], words: 'is not a known setting here' }))
      : [{ path: issue.path, words: wordsOf(issue) }],
  )
