// Fields of an event that hold a person's words or names: only the workspace's own secret is removed from them (ADR 13).
import { EVENT_TYPES } from '../../catalog/events/event-types.ts'
import { nameMeaning } from '../../vendor/redaction/secret-names.ts'

const DECLARED: ReadonlySet<string> = new Set(
  EVENT_TYPES.flatMap(({ fields }) =>
    Object.entries(fields).flatMap(([name, field]) =>
      field.kind === 'scalar' && (field.pii ?? 'none') !== 'none' ? [name] : [],
    ),
  ),
)

export const isCustomerField = (name: string): boolean => DECLARED.has(name) || nameMeaning(name).isCustomerData
