// Parses a page of metrics as collectors do.
import parse from 'parse-prometheus-text-format'

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

interface Family {
  name: string
  help: string
  type: string
  metrics: {
    value?: string
    labels?: Record<string, string>
    buckets?: Record<string, string>
    count?: string
    sum?: string
  }[]
}

/** Returns families of metrics, by name. */
export const families = (text: string): Map<string, Family> =>
  new Map((parse(text) as Family[]).map(family => [family.name, family]))

/** Returns all samples; a histogram is one sample with its count as the value. */
export const samples = (text: string): Sample[] =>
  [...families(text).values()].flatMap(({ name, metrics }) =>
    metrics.map(({ value, count, labels = {} }) => ({ name, labels, value: Number(value ?? count) })),
  )

/** Returns the value of the one sample with at least these labels; undefined if there is none. */
export function sampleOf(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const found = samples(text).filter(
    sample => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  if (found.length > 1) throw new Error(`${name} has ${found.length} samples like that`)
  return found[0]?.value
}
