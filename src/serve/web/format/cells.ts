// A value of an answer to SQL as text.

const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 4 })

export function valueCell(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : NUMBER.format(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
