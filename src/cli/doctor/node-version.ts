// Which Node this is, and whether it is new enough.

import { ConvohouseError } from '../../core/errors.ts'
import type { PackageFacts } from '../package-facts.ts'
import { type Finding, fail, ok } from './findings.ts'

const partsOf = (version: string): number[] => version.split('.').map(Number)

/** True where `version` (`20.19.1`) is `oldest` (`20.19`) or later. */
export function isAtLeast(version: string, oldest: string): boolean {
  const have = partsOf(version)
  const differing = partsOf(oldest).findIndex((part, at) => (have[at] ?? 0) !== part)
  return differing < 0 || (have[differing] ?? 0) > partsOf(oldest)[differing]!
}

/** `node` is a version such as `20.19.1`. */
export function nodeFinding(node: string, { version, oldestNode }: PackageFacts): Finding {
  const subject = { check: 'node' }
  if (isAtLeast(node, oldestNode))
    return ok(subject, `Node ${node} (${oldestNode} or later is needed), convohouse ${version}`)
  return fail(
    subject,
    new ConvohouseError('NODE_TOO_OLD', {
      what: `This is Node ${node}, and convohouse ${version} needs ${oldestNode} or later.`,
      hint: 'Install a newer Node (https://nodejs.org), then run the same command again.',
    }),
  )
}
