// The receiver's metrics.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SpoolCommit } from '../spool/spool.ts'
import { type Described, mapped } from '../telemetry/page.ts'
import { REFUSALS, type Refusal } from './refusals.ts'

/** Buckets of the histograms of durations, in seconds. The vendor gives up after 60. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

const COUNTERS = {
  received: ['convohouse_webhooks_received_total', 'Webhook requests received'],
  acked: ['convohouse_webhooks_acked_total', 'Events stored on disk and acknowledged'],
  events: ['convohouse_webhooks_events_total', 'Events on the disk, by workspace', 'workspace'],
  refused: [
    'convohouse_webhooks_refused_total',
    'Requests that were refused, by reason and workspace; the workspace is empty where it is unknown',
    'reason',
    'workspace',
  ],
  bytes: ['convohouse_spool_bytes_total', 'Bytes of events made durable'],
} as const satisfies Record<string, Described>

const HISTOGRAMS = {
  ackSeconds: ['convohouse_webhooks_ack_seconds', 'From the head of a request to its acknowledgement'],
  syncSeconds: ['convohouse_spool_sync_seconds', 'One write and sync of a batch of events'],
} as const satisfies Record<string, Described>

export class ReceiverMetrics {
  private readonly counters: Record<keyof typeof COUNTERS, Counter>
  private readonly histograms: Record<keyof typeof HISTOGRAMS, Histogram>

  /** `openSegments` returns the number of segments that are open now. */
  constructor({ registry, openSegments }: { registry: Registry; openSegments: () => number }) {
    const registers = [registry]
    this.counters = mapped(
      COUNTERS,
      ([name, help, ...labelNames]) => new Counter({ name, help, labelNames, registers }),
    )
    this.histograms = mapped(HISTOGRAMS, ([name, help]) => new Histogram({ name, help, buckets: BUCKETS, registers }))
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
    for (const reason of Object.keys(REFUSALS)) this.counters.refused.inc({ reason, workspace }, 0)
  }

  /** Exports zeros from the start, because Prometheus' `increase` misses the first refusal if the counter appears only with it. */
  expectOf(workspaceIds: readonly string[]): void {
    for (const workspace of workspaceIds) {
      this.counters.events.inc({ workspace }, 0)
      this.expectReasons(workspace)
    }
  }

  /** Called when a webhook request begins. */
  begin(): void {
    this.counters.received.inc()
  }

  keep(seconds: number): void {
    this.counters.acked.inc()
    this.histograms.ackSeconds.observe(seconds)
  }

  refuse(reason: Refusal, workspaceId: string | null): void {
    this.counters.refused.inc({ reason, workspace: workspaceId ?? '' })
  }

  commit({ workspaceId, events, bytes, ms }: SpoolCommit): void {
    this.counters.events.inc({ workspace: workspaceId }, events)
    this.counters.bytes.inc(bytes)
    this.histograms.syncSeconds.observe(ms / 1_000)
  }
}
