// Lists every field that a record type declares, by its path, with its type in the API document's terms.
import type { Field, Fields, Scalar } from '../../src/catalog/shape.ts'

const WORDS: Record<Scalar['type'], string> = {
  text: 'string',
  moment: 'string',
  count: 'number',
  number: 'number',
  time: 'number',
  boolean: 'boolean',
  any: 'any',
  loose: 'unstated',
}

const wordOf = (field: Field): string => {
  if (field.kind === 'scalar') return WORDS[field.type]
  if (field.kind === 'texts') return 'array of string'
  return field.kind === 'group' ? 'object' : 'array of object'
}

/** Returns types by path, for example `{ 'csat.ease10': 'number', 'crmActivities[].id': 'string' }`. */
export function fieldPaths(fields: Fields, prefix = ''): Record<string, string> {
  const found = Object.entries(fields).flatMap(([key, field]): [string, string][] => {
    const path = prefix + key
    const own: [string, string] = [path, wordOf(field)]
    if (field.kind !== 'group' && field.kind !== 'objects') return [own]
    return [own, ...Object.entries(fieldPaths(field.fields, field.kind === 'group' ? `${path}.` : `${path}[].`))]
  })
  return Object.fromEntries(found)
}
