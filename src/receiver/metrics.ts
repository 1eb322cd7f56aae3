// What the receiver counts, as Prometheus reads it.
import type { Commit } from '../spool/writer.ts'
import { Histogram } from './histogram.ts'
import { REFUSALS, type Refusal } from './refusals.ts'

export class Metrics {
  private readonly acknowledge = new Histogram()
  private readonly sync = new Histogram()
  private received = 0
  private kept = 0
  private bytes = 0
  private readonly refused = new Map(Object.keys(REFUSALS).map(reason => [reason, 0]))

  /** A request to keep an event. */
  begin(): void {
    this.received += 1
  }

  keep(seconds: number): void {
    this.kept += 1
    this.acknowledge.add(seconds)
  }

  refuse(reason: Refusal): void {
    this.refused.set(reason, this.refused.get(reason)! + 1)
  }

  commit({ bytes, ms }: Commit): void {
    this.bytes += bytes
    this.sync.add(ms / 1_000)
  }

  text(openSegments: number): string {
    const metric = (name: string, type: string, help: string, lines: readonly string[]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...lines,
    ]
    const one = (name: string, type: string, help: string, value: number) =>
      metric(name, type, help, [`${name} ${value}`])
    const refused = [...this.refused].map(
      ([reason, count]) => `convohouse_webhooks_refused_total{reason="${reason}"} ${count}`,
    )
    return [
      ...one('convohouse_webhooks_received_total', 'counter', 'Requests to keep an event', this.received),
      ...one('convohouse_webhooks_acked_total', 'counter', 'Events on the disk and acknowledged', this.kept),
      ...metric('convohouse_webhooks_refused_total', 'counter', 'Requests that were refused', refused),
      ...metric(
        'convohouse_webhooks_ack_seconds',
        'histogram',
        'From the head of a request to its acknowledgement',
        this.acknowledge.lines('convohouse_webhooks_ack_seconds'),
      ),
      ...metric(
        'convohouse_spool_sync_seconds',
        'histogram',
        'One write and sync of all events that waited for it',
        this.sync.lines('convohouse_spool_sync_seconds'),
      ),
      ...one('convohouse_spool_bytes_total', 'counter', 'Bytes made durable', this.bytes),
      ...one('convohouse_spool_open_segments', 'gauge', 'Segments that are open', openSegments),
      '',
    ].join('\n')
  }
}
