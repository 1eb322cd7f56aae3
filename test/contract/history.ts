// What a history holds, in plain text.

/** Every payload of a history, decoded, and every other text that is in it. */
export function payloadTexts(history: object): string[] {
  const texts: string[] = []
  const walk = (value: unknown): void => {
    if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'))
    else if (typeof value === 'string') texts.push(value)
    else if (value !== null && typeof value === 'object') for (const inner of Object.values(value)) walk(inner)
  }
  walk(history)
  return texts
}
