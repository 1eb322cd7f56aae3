// JSON as DuckDB writes it about SQL: with constants that JSON has no word for.

/** Strings, which are passed over, and the words that are none of JSON's. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:Infinity|NaN)/g

/** The value that the text stands for; infinities and NaN in it are null. */
export function parseDuckdbJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse(text.replace(STRING_OR_NUMBER, found => (found.startsWith('"') ? found : 'null')))
  }
}
