// Answers of requests that are turned away by a fault.
import type { Answer } from '../answer.ts'
import { fault } from '../answer.ts'
import type { ChosenFault } from './faults.ts'

/** The answer to a fault of the stages `front` and `refusal`. */
export function refusedBy({ name, param }: ChosenFault): Answer {
  switch (name) {
    case '429':
      return fault(429, 'Too many requests')
    case '429-retry-after':
      return fault(429, 'Too many requests', { headers: { 'Retry-After': String(Math.ceil(param / 1_000)) } })
    case '503':
      return fault(503, 'The service is not available')
    case 'expired-cursor':
      return fault(400, 'Invalid cursor', { issues: ['cursor has expired'] })
    case 'dropped-before':
      return { ...fault(500, 'Dropped'), status: NO_ANSWER, delivery: { sends: 'nothing' } }
    default:
      return fault(500, 'Something went wrong')
  }
}

/** The status of a request that got no answer, in the record of requests. */
export const NO_ANSWER = 0
