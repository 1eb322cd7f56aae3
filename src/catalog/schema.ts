// A zod schema of a record type, for callers that hold one record and want it typed and checked.
import { z } from 'zod'
import { type Field, type Fields, type RecordType, sentFields } from './shape.ts'

const scalar = z.union([z.string(), z.number(), z.boolean()])

const SCHEMAS = {
  text: z.string(),
  number: z.number(),
  boolean: z.boolean(),
  time: z.number(),
  moment: z.union([z.string(), z.number()]),
  loose: scalar,
  any: z.json(),
} as const

function fieldSchema(field: Field): z.ZodType {
  switch (field.kind) {
    case 'scalar':
      return SCHEMAS[field.type]
    case 'texts':
      return z.array(z.string())
    case 'group':
      return objectSchema(field.fields)
    case 'objects':
      return z.array(objectSchema(field.fields))
  }
}

const objectSchema = (fields: Fields) =>
  z.looseObject(Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, fieldSchema(field).nullish()])))

/** Schema of a record as the API document describes it: every field may be absent or null, unknown ones pass. */
export const recordSchema = (record: RecordType) =>
  objectSchema(sentFields(record)).extend({ [record.id.key]: z.string().min(1) })
