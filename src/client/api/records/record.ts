// Parts of the types of records. The API document guarantees few fields, and real records have more fields than it
// lists. So all but a record's ids are optional and may be null, and unlisted fields pass through as `unknown`.

/** Fields that the document does not list. */
export type Unlisted = Readonly<Record<string, unknown>>

/** Fields of one type, by name; each may be missing or null. */
export type Optional<Names extends string, Type> = { readonly [Name in Names]?: Type | null }

/** Every answer of a request that succeeded (section 1). */
export type Succeeded = { readonly success?: boolean; readonly message?: string } & Unlisted

/** An answer with its records under `data`. */
export type Answer<Data> = Succeeded & { readonly data: Data }
