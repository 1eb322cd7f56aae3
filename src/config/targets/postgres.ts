// Settings of a target `postgres`: tables in schemas of a PostgreSQL database.
import { z } from 'zod'
import {
  NO_CERTIFICATES,
  type PostgresPlace,
  placeText,
  postgresPlace,
  schemaName,
  serverFields,
  verifiesByCertificates,
  writtenSchema,
} from '../postgres-server.ts'
import {
  everyTarget,
  hasSearch,
  keepsContent,
  NEEDS_CONTENT,
  NEEDS_SEARCH,
  type SearchableTarget,
  searchFields,
  searchSettings,
  sharedSettings,
  type TargetKind,
} from '../target-settings.ts'

export interface PostgresTarget extends SearchableTarget, PostgresPlace {
  type: 'postgres'
}

/** Returns the schema of the marts, beside that of the tables. */
export const martsSchema = (schema: string): string => `${schema}_marts`

/** Returns the schema of the user's models. */
export const modelsSchema = (schema: string): string => `${schema}_models`

const schema = z
  .strictObject({
    ...{ ...everyTarget, ...searchFields, type: z.literal('postgres'), ...serverFields },
    schema: schemaName.default('convohouse'),
  })
  .refine(verifiesByCertificates, NO_CERTIFICATES)
  .refine(keepsContent, NEEDS_CONTENT)
  .refine(hasSearch, NEEDS_SEARCH)

export const postgresKind: TargetKind<typeof schema, PostgresTarget> = {
  schema,
  settings: (given, { folder }) => ({
    ...{ ...sharedSettings(given), ...searchSettings(given), type: given.type, ...postgresPlace(given, folder) },
  }),
  place: placeText,
  writes: target =>
    [target.schema, martsSchema(target.schema), modelsSchema(target.schema)].map(name => writtenSchema(target, name)),
  files: () => [],
}
