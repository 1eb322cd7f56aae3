// Declares series (name, help and labels), and sets them: an unknown value is absent.
import type { Gauge } from 'prom-client'

export function set(gauge: Gauge, labels: Record<string, string>, value: number | null): void {
  if (value !== null) gauge.set(labels, value)
}

export type Described = readonly [name: string, help: string, ...labels: string[]]

export const mapped = <K extends string, V>(
  table: Record<K, Described>,
  make: (described: Described) => V,
): Record<K, V> =>
  Object.fromEntries(Object.entries<Described>(table).map(([key, described]) => [key, make(described)])) as Record<K, V>
