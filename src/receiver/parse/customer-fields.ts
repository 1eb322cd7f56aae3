// Fields of an event that hold what a person wrote or is called: no rule but the workspace's own secret changes them (ADR 13).
import { EVENT_TYPES } from '../../catalog/events.ts'
import { nameMeaning } from '../../vendor/secret-names.ts'

const DECLARED: ReadonlySet<string> = new Set(
  EVENT_TYPES.flatMap(({ fields }) =>
    Object.entries(fields).flatMap(([name, field]) =>
      field.kind === 'scalar' && (field.pii ?? 'none') !== 'none' ? [name] : [],
    ),
  ),
)

export const isCustomerField = (name: string): boolean => DECLARED.has(name) || nameMeaning(name).isCustomerData
