// Malformed records: declared and undeclared keys, values of right and wrong types, at every depth.
import fc from 'fast-check'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { agent } from '../../src/catalog/resources/agents.ts'
import type { Field, Fields } from '../../src/catalog/shape.ts'

type Json = Record<string, unknown>

/** Generates any value, but often one that is valid for the declared field. */
const valueFor = (field: Field): fc.Arbitrary<unknown> => {
  const odd = fc.jsonValue({ maxDepth: 2 })
  switch (field.kind) {
    case 'group':
      return fc.oneof({ weight: 3, arbitrary: recordOf(field.fields) }, { weight: 1, arbitrary: odd })
    case 'objects':
      return fc.oneof(
        { weight: 3, arbitrary: fc.array(fc.oneof(recordOf(field.fields), fc.constant(null)), { maxLength: 3 }) },
        { weight: 1, arbitrary: odd },
      )
    case 'texts':
      return fc.oneof(fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxLength: 3 }), odd)
    case 'scalar':
      return fc.oneof(fc.string(), fc.integer(), fc.constantFrom(' 42 ', 'TRUE', 1_763_600_000, 0, null), odd)
  }
}

const AWKWARD_KEYS = [
  'title',
  'a.b',
  '',
  '__proto__',
  '__extra',
  'constructor',
  'USEREMAIL',
  'say "hi"',
  'toString',
  '\ud800',
]

/** Generates records with some of the declared keys and some undeclared ones. */
function recordOf(fields: Fields): fc.Arbitrary<Json> {
  const declared = fc
    .constantFrom(...Object.keys(fields))
    .chain(key => fc.tuple(fc.constant(key), valueFor(fields[key]!)))
  const other = fc.tuple(fc.oneof(fc.constantFrom(...AWKWARD_KEYS), fc.string()), fc.jsonValue({ maxDepth: 2 }))
  return fc
    .array(fc.oneof({ weight: 4, arbitrary: declared }, { weight: 1, arbitrary: other }), { maxLength: 8 })
    .map(entries => JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)}}`))
}

/** A conversation with arbitrary errors except in its id. */
export const anyConversation = recordOf(conversation.fields).map((record): Json => ({ ...record, ID: 'c' }))

const listOf = (element: fc.Arbitrary<unknown>) => fc.array(element, { maxLength: 4 })
const scalar = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
const named = fc.record({ id: scalar, name: scalar }, { requiredKeys: [] })
const details = fc.record(
  {
    starred: fc.oneof(fc.boolean(), scalar),
    assignedToolsIds: fc.oneof(listOf(fc.oneof(scalar, named)), fc.jsonValue()),
    tools: fc.oneof(listOf(fc.oneof(scalar, named)), fc.jsonValue()),
    kbTags: fc.oneof(listOf(fc.oneof(scalar, named)), fc.jsonValue()),
    convoTags: fc.oneof(listOf(fc.oneof(scalar, named)), fc.jsonValue()),
    vgOptions: fc.jsonValue(),
    vg_temperature: fc.jsonValue(),
  },
  { requiredKeys: [] },
)

/** An agent with arbitrary errors except in its id. */
export const anyAgent = fc
  .tuple(recordOf(agent.fields), details)
  .map(([record, more]): Json => ({ ...record, ...(JSON.parse(JSON.stringify(more)) as Json), ID: 'a' }))
