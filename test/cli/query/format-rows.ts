// Reads the table of docs/formats.md.

export interface FormatRow {
  sql: string
  asText: string
  asJson: string
  inColumns: string
}

/** Returns the rows of the table whose four columns are all code. */
export function formatRows(page: string): FormatRow[] {
  return page
    .split('\n')
    .map(line => /^\| `(.*)` \| `(.*)` \| `(.*)` \| `(.*)` \|$/.exec(line))
    .flatMap(match => (match ? [{ sql: match[1]!, asText: match[2]!, asJson: match[3]!, inColumns: match[4]! }] : []))
}
