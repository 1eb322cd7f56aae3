// The page that Prometheus scrapes: this process's registry, and pages of other sources appended to it. Also declares its series.
import { type Gauge, Registry } from 'prom-client'

export class MetricsPage {
  readonly registry = new Registry()
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  private readonly refreshes: (() => Promise<void>)[] = []
  private readonly others: (() => Promise<string>)[] = []

  /** Registers a callback that updates the registry before each scrape. It must resolve in bounded time and never reject. */
  beforeAnswer(refresh: () => Promise<void>): void {
    this.refreshes.push(refresh)
  }

  /** Appends a page with other metric names. `other` must resolve in bounded time; if it fails, its page is omitted. */
  append(other: () => Promise<string>): void {
    this.others.push(other)
  }

  async text(): Promise<string> {
    await Promise.all(this.refreshes.map(refresh => refresh()))
    const others = await Promise.all(this.others.map(other => other().catch(() => '')))
    return [await this.registry.metrics(), ...others.filter(text => text !== '')].join('\n')
  }
}

/** Sets a series, unless the value is unknown. */
export function set(gauge: Gauge, labels: Record<string, string>, value: number | null): void {
  if (value !== null) gauge.set(labels, value)
}

/** Declares a series. */
export type Described = readonly [name: string, help: string, ...labels: string[]]

export const mapped = <K extends string, V>(
  table: Record<K, Described>,
  make: (described: Described) => V,
): Record<K, V> =>
  Object.fromEntries(Object.entries<Described>(table).map(([key, described]) => [key, make(described)])) as Record<K, V>
