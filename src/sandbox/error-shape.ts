// Errors (API document, section 7) as the readings have them; the document's own are passed on as they are.
import { SECOND } from '../core/time.ts'
import type { Answer } from './answer.ts'
import type { Readings } from './readings.ts'

const PAGE = '<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not Found</body></html>\n'

export function shapeError(answer: Answer, readings: Readings, nowMs: number): Answer {
  if (answer.status < 400) return answer
  const shaped = answer.status === 404 ? notFound(answer, readings['not-found']) : shape(answer, readings.error)
  const sent = answer.headers?.['Retry-After']
  if (sent === undefined || readings['retry-after'] === 'seconds') return shaped
  const { 'Retry-After': _, ...headers } = answer.headers!
  const told = retryAfter(readings['retry-after'], nowMs + Number(sent) * SECOND)
  return { ...shaped, headers: { ...headers, ...(told !== undefined && { 'Retry-After': told }) } }
}

function notFound(answer: Answer, reading: Readings['not-found']): Answer {
  if (reading === 'page') return { ...answer, contentType: 'text/html; charset=utf-8', body: PAGE }
  return reading === 'empty' ? { ...answer, body: '' } : answer
}

function shape(answer: Answer, reading: Readings['error']): Answer {
  switch (reading) {
    case 'nested':
      return { ...answer, body: `{"error":${String(answer.body)}}` }
    case 'text':
      return { ...answer, contentType: 'text/plain; charset=utf-8', body: `Error ${answer.status}` }
    case 'empty':
      return { ...answer, body: '' }
    default:
      return answer
  }
}

function retryAfter(reading: Exclude<Readings['retry-after'], 'seconds'>, untilMs: number): string | undefined {
  switch (reading) {
    case 'date':
      return new Date(untilMs).toUTCString()
    case 'absurd':
      return '99999999999999'
    case 'epoch':
      return String(Math.ceil(untilMs / SECOND))
    default:
      return undefined
  }
}
