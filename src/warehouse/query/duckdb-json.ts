// Parses the JSON that DuckDB writes about SQL, which may contain `Infinity` and `NaN`.

/** Matches strings, which stay unchanged, and the constants that are not JSON. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:Infinity|NaN)/g

/** The parsed value; infinities and NaN become null. */
export function parseDuckdbJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse(text.replace(STRING_OR_NUMBER, found => (found.startsWith('"') ? found : 'null')))
  }
}
