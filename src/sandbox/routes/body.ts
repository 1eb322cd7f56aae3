// Request bodies: JSON text, checked against the schema of the route.
import { z } from 'zod'
import { issueTexts } from '../rates.ts'
import type { Readings } from '../readings.ts'
import { type Answer, fault } from './answer.ts'

/** The body's value, or the answer 400 with an issue for each problem. Unknown fields are dropped, or refused by the reading. */
export function readBody<S extends z.ZodType>(
  schema: S,
  text: string,
  readings: Readings,
): { value: z.output<S> } | { refused: Answer } {
  const refused = (issues: string[]) => ({ refused: fault(400, 'Invalid body', { issues }) })
  let sent: unknown
  try {
    sent = JSON.parse(text)
  } catch {
    return refused(['the body is not JSON'])
  }
  const read = schema.safeParse(sent)
  const unknown = readings['unknown-fields'] === 'refused' ? unknownFields(schema, sent, '') : []
  const issues = [...(read.success ? [] : issueTexts(read.error)), ...unknown.map(field => `${field} is not known`)]
  return read.success && issues.length === 0 ? { value: read.data } : refused(issues)
}

/** Paths of the fields that the schema's objects do not have. */
function unknownFields(schema: unknown, sent: unknown, path: string): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return unknownFields(schema.unwrap(), sent, path)
  if (schema instanceof z.ZodArray && Array.isArray(sent))
    return sent.flatMap((element, place) => unknownFields(schema.element, element, `${path}[${place}]`))
  if (!(schema instanceof z.ZodObject) || typeof sent !== 'object' || sent === null) return []
  return Object.entries(sent).flatMap(([name, value]) => {
    const inner = path === '' ? name : `${path}.${name}`
    return Object.hasOwn(schema.shape, name) ? unknownFields(schema.shape[name], value, inner) : [inner]
  })
}
