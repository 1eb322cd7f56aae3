// The flags of `convohouse worker`.
import type { Role } from '../../run/temporal/worker/role.ts'
import { ROLES } from '../../run/temporal/worker/role.ts'
import { invalidFlag } from '../flags/values.ts'

export function role(text: string): Role {
  const known = ROLES.find(one => one === text)
  if (known) return known
  throw invalidFlag(`--role cannot be ${JSON.stringify(text)}.`, `Give one of: ${ROLES.join(', ')}.`)
}
