// A record while it is being made hostile: what JSON values can say, and what only JSON text can.

export interface Piece {
  record: Record<string, unknown>
  /** Members (`"key":value`) as JSON text, to be put behind the others. */
  members: string[]
}

export function open(text: string): Piece {
  return { record: JSON.parse(text) as Record<string, unknown>, members: [] }
}

export function close({ record, members }: Piece): string {
  const text = JSON.stringify(record)
  if (members.length === 0) return text
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}${members.join(',')}}`
}

/** Gives the field a value that is JSON text. */
export function setText({ record, members }: Piece, field: string, json: string): void {
  delete record[field]
  members.push(`${JSON.stringify(field)}:${json}`)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
