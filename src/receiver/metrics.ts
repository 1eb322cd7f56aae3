// The receiver's metrics.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SpoolCommit } from '../spool/spool.ts'
import { REFUSALS, type Refusal } from './refusals.ts'

/** Buckets of the histograms of durations, in seconds. The vendor gives up after 60. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

export class ReceiverMetrics {
  private readonly received: Counter
  private readonly acked: Counter
  private readonly events: Counter<'workspace'>
  private readonly refused: Counter<'reason' | 'workspace'>
  private readonly ackSeconds: Histogram
  private readonly syncSeconds: Histogram
  private readonly bytes: Counter

  /** `openSegments` returns the number of segments that are open now. */
  constructor({ registry, openSegments }: { registry: Registry; openSegments: () => number }) {
    const registers = [registry]
    this.received = new Counter({
      name: 'convohouse_webhooks_received_total',
      help: 'Webhook requests received',
      registers,
    })
    this.acked = new Counter({
      name: 'convohouse_webhooks_acked_total',
      help: 'Events stored on disk and acknowledged',
      registers,
    })
    this.events = new Counter({
      name: 'convohouse_webhooks_events_total',
      help: 'Events on the disk, by workspace',
      labelNames: ['workspace'],
      registers,
    })
    this.refused = new Counter({
      name: 'convohouse_webhooks_refused_total',
      help: 'Requests that were refused, by reason and workspace; the workspace is empty where it is unknown',
      labelNames: ['reason', 'workspace'],
      registers,
    })
    this.ackSeconds = new Histogram({
      name: 'convohouse_webhooks_ack_seconds',
      help: 'From the head of a request to its acknowledgement',
      buckets: BUCKETS,
      registers,
    })
    this.syncSeconds = new Histogram({
      name: 'convohouse_spool_sync_seconds',
      help: 'One write and sync of a batch of events',
      buckets: BUCKETS,
      registers,
    })
    this.bytes = new Counter({ name: 'convohouse_spool_bytes_total', help: 'Bytes of events made durable', registers })
    new Gauge({
      name: 'convohouse_spool_open_segments',
      help: 'Open segments',
      registers,
      collect() {
        this.set(openSegments())
      },
    })
    this.expectReasons('')
  }

  private expectReasons(workspace: string): void {
    for (const reason of Object.keys(REFUSALS)) this.refused.inc({ reason, workspace }, 0)
  }

  /** Exports zeros from the start, because Prometheus' `increase` misses the first refusal if the counter appears only with it. */
  expectOf(workspaceIds: readonly string[]): void {
    for (const workspace of workspaceIds) {
      this.events.inc({ workspace }, 0)
      this.expectReasons(workspace)
    }
  }

  /** Called when a webhook request begins. */
  begin(): void {
    this.received.inc()
  }

  keep(seconds: number): void {
    this.acked.inc()
    this.ackSeconds.observe(seconds)
  }

  refuse(reason: Refusal, workspaceId: string | null): void {
    this.refused.inc({ reason, workspace: workspaceId ?? '' })
  }

  commit({ workspaceId, events, bytes, ms }: SpoolCommit): void {
    this.events.inc({ workspace: workspaceId }, events)
    this.bytes.inc(bytes)
    this.syncSeconds.observe(ms / 1_000)
  }
}
