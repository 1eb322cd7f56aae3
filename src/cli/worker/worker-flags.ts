// The flags of `convohouse worker`.
import type { Role } from '../../run/temporal/role.ts'
import { ROLES } from '../../run/temporal/role.ts'
import { invalidFlag } from '../flags/values.ts'

export function role(text: string): Role {
  const known = ROLES.find(one => one === text)
  if (known) return known
  throw invalidFlag(`--role cannot be ${JSON.stringify(text)}.`, `Give one of: ${ROLES.join(', ')}.`)
}

/** `host:port`, as the metrics are bound to. */
export function bindAddress(text: string): string {
  const port = Number(/^[^\s:]+:(\d{1,5})$/.exec(text)?.[1])
  if (port >= 1 && port <= 65_535) return text
  throw invalidFlag(`--metrics cannot be ${JSON.stringify(text)}.`, 'Give a host and a port, such as 127.0.0.1:9464.')
}
