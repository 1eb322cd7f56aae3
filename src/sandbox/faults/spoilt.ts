// What a fault makes of an answer that the work has been done for: spoilt on its way, late, or with a wrong time.
import type { Answer, Delivery } from '../answer.ts'
import type { FaultPlan } from './faults.ts'
import { NO_ANSWER } from './refused.ts'

const PROXY_PAGE =
  '<!DOCTYPE html>\n<html><head><title>Just a moment…</title></head><body>Checking your browser.</body></html>\n'

/** The stages `around`, `lost`, `pace` and `date`. A lost answer returns nothing to its caller, and stays billed. */
export function spoil(answer: Answer, plan: FaultPlan): Answer {
  const sent = answer.status === 200 ? lose(surround(answer, plan), plan) : answer
  const delivery = { ...sent.delivery, ...pace(sent, plan), ...date(sent, plan) }
  return Object.keys(delivery).length === 0 ? sent : { ...sent, delivery }
}

/** Text, because `JSON.stringify` does not get so deep. */
function surround(answer: Answer, plan: FaultPlan): Answer {
  const chosen = answer.contentType.startsWith('application/json') ? plan.take('around') : undefined
  if (chosen === undefined) return answer
  const deep = `${'{"a":'.repeat(chosen.param)}1${'}'.repeat(chosen.param)}`
  return {
    ...answer,
    body: Buffer.concat([Buffer.from(`{"futureDepth":${deep},`), Buffer.from(answer.body).subarray(1)]),
  }
}

function lose(answer: Answer, plan: FaultPlan): Answer {
  const chosen = plan.take('lost')
  if (chosen === undefined) return answer
  const lost = { ...answer, returned: 0 }
  switch (chosen.name) {
    case 'html':
      return { ...lost, contentType: 'text/html; charset=utf-8', body: PROXY_PAGE }
    case 'cut-json': {
      const body = Buffer.from(answer.body)
      return { ...lost, body: body.subarray(0, body.length >>> 1) }
    }
    case 'cut-body':
      return { ...lost, delivery: { sends: 'half' } }
    default:
      return { ...lost, status: NO_ANSWER, delivery: { sends: 'nothing' } }
  }
}

function pace({ delivery }: Answer, plan: FaultPlan): Delivery {
  // What is never sent overtakes nothing and is not overtaken; how late it is dropped is seen by nobody else.
  if (delivery?.sends === 'nothing') return {}
  const chosen = plan.take('pace')
  if (chosen === undefined) return {}
  return { holdMs: chosen.param, ...(chosen.name === 'overtaking' && { behindLater: true }) }
}

function date({ delivery }: Answer, plan: FaultPlan): Delivery {
  if (delivery?.sends === 'nothing') return {}
  const chosen = plan.take('date')
  return chosen === undefined ? {} : { dateOffsetMs: chosen.param }
}
