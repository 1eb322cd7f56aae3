// JSON that DuckDB's reader takes. It refuses a lone surrogate, which `JSON.stringify` writes as an escape.

/** Escapes in pairs of characters, so that a backslash before `ud800` in a text is not taken for one. */
const ESCAPE = /\\(?:(ud[89a-f][0-9a-f]{2})|.)/g

/** JSON with each lone surrogate, in keys and values, as U+FFFD. Hardly any has one, and to look at each escape took half of what staging takes. */
export const wellFormed = (json: string): string =>
  json.includes('\\ud') ? json.replace(ESCAPE, (whole, lone?: string) => (lone ? '\uFFFD' : whole)) : json

/** `JSON.stringify` that is well-formed. The landed page keeps what was sent as it came. */
export const wellFormedJson = (value: unknown): string => wellFormed(JSON.stringify(value))
