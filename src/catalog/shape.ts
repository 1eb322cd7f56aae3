// The declaration of a record type: the vendor's fields and their storage in the warehouse. The table, the extraction
// SQL, the inspection and the data dictionary are derived from it.

/**
 * The type of a scalar in JSON, and in the warehouse:
 * - `text`, `boolean`
 * - `count`: a whole number → BIGINT. The API says "number": a fraction is a data issue, and its value goes to `extra`
 * - `number`: an amount, a score or a measurement → DOUBLE
 * - `time`: a number of seconds, ms or µs, distinguished by its magnitude → TIMESTAMPTZ (UTC)
 * - `moment`: a string that holds a time; kept as sent, with a parsed TIMESTAMPTZ twin beside it where it is ISO-8601 (in UTC where it
 *   has no offset) or an epoch of 10 to 16 digits
 * - `loose`: any scalar, of a type that the API does not state → text
 * - `any`: any JSON → JSON
 */
type ScalarType = 'text' | 'count' | 'number' | 'boolean' | 'time' | 'moment' | 'loose' | 'any'

/**
 * Class of personal data: `identity` a contact's name, address or account; `content` text that was said or noted;
 * `device` the contact's machine or network; `staff` a person who handles conversations; `label` a tag or a name of something in
 * conversations, such as a variable; `word` and `code` a text that should have one of `FORMS`, and is content if it does not; `none` an
 * id, a name of something configured, or a value of our own.
 */
export type PiiClass = 'none' | 'identity' | 'content' | 'device' | 'staff' | 'label' | keyof typeof FORMS

/** Forms of texts that hold no content: of a word such as a state, and of a code such as the id of a model. */
export const FORMS = {
  word: '[A-Za-z][A-Za-z0-9_-]{0,30}',
  code: '[A-Za-z0-9_-]{1,60}([.:/][A-Za-z0-9_-]{1,60}){0,9}',
} as const

/** True for a class of values that may identify a person or be what one said. */
export const isPersonal = (pii: PiiClass): boolean => ['identity', 'content', 'device', 'staff'].includes(pii)

interface Described {
  about: string
  pii: PiiClass
}

/** Notation in which a channel's case is stored. */
export type Casing = 'lower' | 'as-sent'

export interface Scalar extends Described {
  kind: 'scalar'
  type: ScalarType
  /** Column name, if it is not the snake_case of the key. */
  column?: string
  /** Column of a `moment`'s parsed twin. */
  twin?: string
  unit?: string
  /** Set for a rating: a negative one is a data issue. */
  isRating?: true
  /** Set for a channel or a list of channels, stored in one spelling: in lower case, or in the case as sent. */
  channel?: Casing
  /** Set if the field fills only its child table and has no column. */
  hidden?: true
  /** A child table made from the elements or entries of an `any`. */
  unnest?: Unnest
  /** Columns beside the JSON of an `any`, for facts that users filter by. */
  lift?: readonly Lift[]
}

/** An object whose fields become columns of the same row, with the object's name as prefix. */
export interface Group extends Described {
  kind: 'group'
  fields: Fields
  /** Set if its columns have no prefix. */
  isFlat?: true
}

/** An array of strings: a child table of one column. Lists with a label share a table, each row with the label of its list. */
export interface TextList extends Described {
  kind: 'texts'
  table: string
  column: string
  label?: Label
  channel?: Casing
}

export interface Label {
  /** Column of the label, the same for all lists of the table. */
  column: string
  about: string
  /** The label of this list. */
  value: string
}

/** An array of objects: a child table with the element's fields. */
export interface ObjectList extends Described {
  kind: 'objects'
  table: string
  fields: Fields
  /** The field with the id of an element: rows of lists inside the element have it as a column of that name. */
  id?: { key: string; column: string }
}

export type Field = Scalar | Group | TextList | ObjectList
export type Fields = { readonly [key: string]: Field }

/** A column lifted out of an element of unknown shape: the first of these keys with a scalar. */
export interface Lift extends Described {
  column: string
  /** `json`: a string with the text of JSON. */
  type: 'text' | 'count' | 'number' | 'time' | 'position' | 'json'
  keys: readonly string[]
  /** Fallback if no key has a scalar: `scalar`, the element itself if it is one; `whole`, the element itself in any case. */
  orSelf?: 'scalar' | 'whole'
}

/**
 * Makes a child table of an `any`: `elements` of an array (with `position`), or `entries` of an object (with the key).
 * Everything else remains in the JSON column of the record: the element at `position` is `sessions->(position - 1)`.
 * Copies of the elements would take a sixth of the warehouse.
 */
export interface Unnest extends Described {
  table: string
  over: 'elements' | 'entries'
  /** Column of an entry's key, and its class. */
  keyColumn?: string
  keyPii?: PiiClass
  lift: readonly Lift[]
}

/** A column that is computed from several fields. */
export interface Derived extends Described {
  column: string
  sqlType: string
  /** SQL over the staged record `s`; `timeZone` is an SQL string literal. */
  sql: (context: { timeZone: string }) => string
  /** SQL of the value over the stored row, used after a change of the time zone or a patch with only some of the fields. */
  stored?: (context: { timeZone: string }) => string
  /** Top-level keys that the column depends on; after a patch of one of them it is derived again. */
  from: readonly string[]
}

/**
 * Fields computed from a record as sent, if no declaration of single fields can express them. They exist only in types
 * whose records are all coerced before they are staged, and their values must have the declared types.
 */
export interface Computed {
  fields: Fields
  from: (sent: Readonly<Record<string, unknown>>, page: PageOfRecord) => Readonly<Record<string, unknown>>
}

/** The page that contained a record. */
export interface PageOfRecord {
  /** Key of the list in the body that contains the record. */
  list: string
  /** When the vendor sent the record, if its times are compared with that. */
  atMs?: number
  /** Ids of this page's records that the listing's second list contains, on any page; undefined if unknown. */
  starredIds?: ReadonlySet<string>
}

export interface RecordType {
  name: string
  table: string
  about: string
  /** The key of the API that identifies a record, and its column. */
  id: { key: string; column: string }
  /** Set if the record belongs to an agent, whose id is part of the key. */
  perAgent?: true
  fields: Fields
  /** Other names under which the vendor sends top-level fields: `{ vapi: 'ext' }`. */
  aliases?: Readonly<Record<string, string>>
  derived?: readonly Derived[]
  computed?: Computed
  /** The field that orders versions; if omitted, the later fetch is newer. */
  modifiedKey?: string
  /** Set if the record is an event that happened once, so that no version replaces another. */
  fact?: true
  /** Set if an event may report its deletion; its row stays. */
  deletable?: true
  /** Set if the export selects it by id. */
  selectable?: true
  /** Set if undeclared keys, which go to `extra`, are expected and do not count as drift. */
  hasOtherFields?: true
}

interface Options {
  pii?: PiiClass
  column?: string
  unit?: string
  isRating?: true
  channel?: Casing
}

const scalar =
  (type: ScalarType) =>
  (about: string, options: Options = {}): Scalar => ({ kind: 'scalar', type, about, pii: 'none', ...options })

export const text = scalar('text')
export const count = scalar('count')
export const number = scalar('number')
export const boolean = scalar('boolean')
export const time = scalar('time')
export const loose = scalar('loose')

/** Its text may be no time, so only its twin is without content. */
export const moment = (about: string, twin: string, options: Options = {}): Scalar => ({
  ...scalar('moment')(about, { pii: 'content', ...options }),
  twin,
})

export const any = (about: string, options: Options & Pick<Scalar, 'unnest' | 'hidden' | 'lift'> = {}): Scalar => ({
  ...scalar('any')(about, options),
})

export const group = (about: string, fields: Fields, options: Pick<Group, 'isFlat'> = {}): Group => ({
  kind: 'group',
  about,
  pii: 'none',
  fields,
  ...options,
})

export const texts = (
  about: string,
  table: string,
  column: string,
  options: Pick<Options, 'pii' | 'channel'> & { label?: Label } = {},
): TextList => ({
  kind: 'texts',
  about,
  table,
  column,
  pii: options.pii ?? 'none',
  ...(options.label && { label: options.label }),
  ...(options.channel && { channel: options.channel }),
})

export const objects = (
  about: string,
  table: string,
  fields: Fields,
  options: Pick<ObjectList, 'id'> = {},
): ObjectList => ({ kind: 'objects', about, table, pii: 'none', fields, ...options })

/** Returns the fields under every name with which the vendor may send them. */
export const sentFields = ({ fields, aliases = {} }: RecordType): Fields => ({
  ...fields,
  ...Object.fromEntries(Object.entries(aliases).flatMap(([alias, key]) => (fields[key] ? [[alias, fields[key]]] : []))),
})

/** Returns the fields of a staged record: those that are sent, and those that are computed. */
export const stagedFields = (record: RecordType): Fields => ({ ...sentFields(record), ...record.computed?.fields })

/** Returns the snake_case of a key: `userEmail` → `user_email`, `firstMessageTS` → `first_message_ts`, `ID` → `id`. */
export function snakeCase(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
}

/** Returns a column of an unnested row: the first of these keys with a scalar. */
export const lift = (
  column: string,
  type: Lift['type'],
  keys: readonly string[],
  about: string,
  more?: Partial<Lift>,
): Lift => ({
  column,
  type,
  keys,
  about,
  pii: 'none',
  ...more,
})

/** Declares a child table with one row per element of an array. */
export const elements = (table: string, about: string, lifted: readonly Lift[]): Unnest => ({
  table,
  over: 'elements',
  about,
  pii: 'content',
  lift: lifted,
})

/** Declares a child table with one row per entry of an object. */
export const entries = (
  table: string,
  keyColumn: string,
  about: string,
  keyPii: PiiClass,
  lifted: readonly Lift[],
): Unnest => ({
  table,
  over: 'entries',
  keyColumn,
  keyPii,
  about,
  pii: 'content',
  lift: lifted,
})
