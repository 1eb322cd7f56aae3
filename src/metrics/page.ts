// What Prometheus reads of this process: all that is registered, in its text format, and pages of others beside it.
import { Registry } from 'prom-client'

export class MetricsPage {
  readonly registry = new Registry()
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  private readonly refreshes: (() => Promise<void>)[] = []
  private readonly others: (() => Promise<string>)[] = []

  /** Called before each answer: sets what is registered. Has to end within a bounded time, and never to fail. */
  beforeAnswer(refresh: () => Promise<void>): void {
    this.refreshes.push(refresh)
  }

  /** Another page of metrics, none of whose names is ours. Has to end within a bounded time; what fails is left out. */
  append(other: () => Promise<string>): void {
    this.others.push(other)
  }

  async text(): Promise<string> {
    await Promise.all(this.refreshes.map(refresh => refresh()))
    const others = await Promise.all(this.others.map(other => other().catch(() => '')))
    return [await this.registry.metrics(), ...others.filter(text => text !== '')].join('\n')
  }
}
