// Runs the example alerts with Prometheus's own engine over series as processes export them. Each alert fires when it
// should, also if its metric is missing, and none fires without a problem.
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { temporaryFolder } from '../cli/cli-process.ts'
import { describeWithPromtool } from '../promtool.ts'
import { isDeep } from '../tier.ts'
import { ROOT } from './dockerfile.ts'

const FILE = join(ROOT, 'deploy/alerts.yml')

interface Rule {
  alert: string
  expr: string
  annotations: { summary: string; description: string }
}

const { groups } = parse(readFileSync(FILE, 'utf8')) as { groups: { name: string; rules: Rule[] }[] }
const rulesOf = (group: string): Rule[] => groups.find(({ name }) => name === group)!.rules
const rules = rulesOf('convohouse-workspaces')

/** Values by metric and labels: one sample every five minutes, for eight hours. */
type Series = Record<string, string>
const STEPS = 96
const AT = '8h'
const steady = (value: number): string => `${value}x${STEPS}`
/** Increases by one per second. */
const GROWING = `0+300x${STEPS}`
/** Returns a series that is constant for half of the time, then absent. */
const vanished = (value: number): string => `${value}x${STEPS / 2} stale`

const WS = 'workspace="ws_1"'
const REFUSED = `convohouse_webhooks_refused_total{reason="wrong-secret",${WS}}`
const HEALTHY: Series = {
  'convohouse_process_info{role="up"}': steady(1),
  [`convohouse_workspace_info{${WS},webhooks="true"}`]: steady(1),
  [`convohouse_head_age_seconds{${WS}}`]: steady(400),
  [`convohouse_last_success_timestamp_seconds{${WS}}`]: GROWING,
  [REFUSED]: steady(3),
  [`convohouse_webhooks_events_total{${WS}}`]: GROWING,
  'convohouse_webhooks_refused_total{reason="not-found"}': GROWING,
  [`convohouse_events_waiting_seconds{${WS}}`]: steady(2),
  [`convohouse_quota_used_sessions{${WS}}`]: steady(20_000),
  [`convohouse_quota_included_sessions{${WS}}`]: steady(50_000),
  [`convohouse_quota_projected_sessions{${WS}}`]: steady(45_000),
  [`convohouse_quota_overage_packs{${WS}}`]: steady(0),
  [`convohouse_quarantined_records{${WS}}`]: steady(7),
  convohouse_disk_free_bytes: steady(50e9),
  'convohouse_target_info{target="bi",type="snapshot"}': steady(1),
  'convohouse_target_lag_seconds{target="bi"}': steady(900),
  'convohouse_checks{severity="error",outcome="failed"}': steady(0),
  'convohouse_checks{severity="warn",outcome="failed"}': steady(2),
  'convohouse_models{outcome="built"}': steady(3),
  'convohouse_models{outcome="failed"}': steady(0),
}

type Labels = Record<string, string>

const without = (...metrics: string[]): Series =>
  Object.fromEntries(Object.entries(HEALTHY).filter(([series]) => !metrics.some(metric => series.startsWith(metric))))

const of = (metric: string): string => `convohouse_${metric}{${WS}}`
const ws = { workspace: 'ws_1' }
const bi = { target: 'bi' }

type Trigger = [alert: string, series: string, values: string, labels: Labels]

/** Changes of one series that make each alert fire, and the alert's labels; absence is tested separately. */
const TRIGGERS: Trigger[] = [
  ['ConvohouseProcessAbsent', 'convohouse_process_info{role="worker-export"}', vanished(1), { role: 'worker-export' }],
  [
    'ConvohouseWorkspaceAbsent',
    'convohouse_workspace_info{workspace="ws_2",webhooks="false"}',
    vanished(1),
    { workspace: 'ws_2' },
  ],
  ['ConvohouseHeadOld', of('head_age_seconds'), GROWING, ws],
  ['ConvohouseNoSuccess', of('last_success_timestamp_seconds'), steady(60), ws],
  ['ConvohouseWebhooksRefused', REFUSED, '0x94 1x1', { ...ws, reason: 'wrong-secret' }],
  ['ConvohouseIngestStalled', of('events_waiting_seconds'), GROWING, ws],
  ['ConvohouseQuotaNearlyUsed', of('quota_used_sessions'), steady(45_500), ws],
  ['ConvohouseQuotaNearlyUsed', of('quota_projected_sessions'), steady(50_001), ws],
  ['ConvohouseOverage', of('quota_overage_packs'), steady(1), ws],
  ['ConvohouseQuarantineGrows', of('quarantined_records'), '7x90 8x5', ws],
  ['ConvohouseDiskLow', 'convohouse_disk_free_bytes', steady(1e9), {}],
  ['ConvohouseTargetOld', 'convohouse_target_lag_seconds{target="bi"}', GROWING, bi],
  [
    'ConvohousePublicationsFail',
    'convohouse_target_failing_attempts{target="bi",code="TARGET_UNUSABLE"}',
    steady(3),
    { ...bi, code: 'TARGET_UNUSABLE' },
  ],
  ['ConvohouseChecksFail', 'convohouse_checks{severity="error",outcome="failed"}', steady(1), { severity: 'error' }],
  ['ConvohouseModelsFail', 'convohouse_models{outcome="failed"}', steady(1), { outcome: 'failed' }],
]

/** The series whose absence triggers each alert, and the alert's labels then. */
const ABSENT: Record<string, { metric: string; labels: Labels }> = {
  ConvohouseProcessAbsent: { metric: 'convohouse_process_info', labels: {} },
  ConvohouseHeadOld: { metric: 'convohouse_head_age_seconds', labels: ws },
  ConvohouseNoSuccess: { metric: 'convohouse_last_success_timestamp_seconds', labels: ws },
  ConvohouseWebhooksRefused: { metric: 'convohouse_webhooks_events_total', labels: ws },
  ConvohouseIngestStalled: { metric: 'convohouse_events_waiting_seconds', labels: ws },
  ConvohouseQuotaNearlyUsed: { metric: 'convohouse_quota_used_sessions', labels: ws },
  ConvohouseOverage: { metric: 'convohouse_quota_overage_packs', labels: ws },
  ConvohouseQuarantineGrows: { metric: 'convohouse_quarantined_records', labels: ws },
  ConvohouseDiskLow: { metric: 'convohouse_disk_free_bytes', labels: {} },
  ConvohouseTargetOld: { metric: 'convohouse_target_lag_seconds', labels: bi },
  ConvohouseChecksFail: { metric: 'convohouse_checks', labels: {} },
  ConvohouseModelsFail: { metric: 'convohouse_models', labels: {} },
}

/** Returns the alerts that fire for a workspace without any series. */
const perWorkspace = (labels: Labels): Record<string, Labels[]> =>
  Object.fromEntries(
    Object.entries(ABSENT).flatMap(([alert, absent]) => (absent.labels === ws ? [[alert, [labels]]] : [])),
  )

interface Case {
  name: string
  series: Series
  /** The alerts that fire, with their labels; no other alert does. */
  firing: Record<string, Labels[]>
}

const summaryOf = ({ annotations }: Rule, labels: Labels): string =>
  annotations.summary.replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? '')

const testOf = ({ name, series, firing }: Case) => ({
  name,
  interval: '5m',
  input_series: Object.entries(series).map(([metric, values]) => ({ series: metric, values })),
  alert_rule_test: rules.map(rule => ({
    eval_time: AT,
    alertname: rule.alert,
    exp_alerts: (firing[rule.alert] ?? []).map(labels => ({
      exp_labels: labels,
      exp_annotations: { ...rule.annotations, summary: summaryOf(rule, labels) },
    })),
  })),
})

describe('the example alerts about Temporal', () => {
  it('use only metrics and labels of the SDK, whose native library contains their names', () => {
    const { arch, platform } = process
    const folder = join(ROOT, 'node_modules/@temporalio/core-bridge/releases')
    const [cpu, system] = [arch === 'x64' ? 'x86_64' : 'aarch64', platform === 'darwin' ? 'apple' : 'linux-gnu']
    const build = readdirSync(folder).find(name => name.startsWith(cpu) && name.includes(system))!
    const library = readFileSync(join(folder, build, 'index.node'), 'latin1')
    const expressions = rulesOf('convohouse-temporal').map(({ expr }) => expr)
    const metrics = expressions.flatMap(expr => expr.match(/temporal_\w+/g) ?? [])
    expect(metrics.length).toBeGreaterThanOrEqual(expressions.length)
    const labels = expressions.flatMap(expr =>
      [...expr.matchAll(/(\w+)=~?"(\w*)/g)].flatMap(([, name, value]) => [name!, value!]),
    )
    const names = [...metrics.map(name => name.replace(/^temporal_|_bucket$/g, '')), ...labels]
    expect(names.filter(name => name !== 'syncWorkspace' && !library.includes(name))).toEqual([])
  })
})

await describeWithPromtool('the example alerts', promtool => {
  async function run(cases: readonly Case[]) {
    const file = join(await temporaryFolder(), 'rules.test.yml')
    // JSON is valid YAML.
    await writeFile(file, JSON.stringify({ rule_files: [FILE], evaluation_interval: '5m', tests: cases.map(testOf) }))
    return promtool.check(['test', 'rules', file])
  }

  const PASSED = { code: 0, output: expect.stringContaining('SUCCESS') }

  it('are valid rules, silent without a problem, and a test of them can fail', async () => {
    expect(await promtool.check(['check', 'rules', FILE])).toEqual(PASSED)
    expect(await run([{ name: 'well', series: HEALTHY, firing: {} }])).toEqual(PASSED)
    const wrong = { name: 'wrong', series: HEALTHY, firing: { ConvohouseOverage: [ws] } }
    expect(await run([wrong])).toMatchObject({ code: 1, output: expect.stringContaining('ConvohouseOverage') })
  })

  it('fire, each for its own problem and only for its workspace', async () => {
    const alerts = rules.map(({ alert }) => alert).sort()
    expect([...new Set(TRIGGERS.map(([alert]) => alert))].sort()).toEqual(alerts)
    const cases = TRIGGERS.map(([alert, metric, values, labels]) => ({
      name: alert,
      series: { ...HEALTHY, [metric]: values },
      firing: { [alert]: [labels] },
    }))
    // `ws_2` has no other series and no webhooks: all alerts about its absent series fire, except those about webhooks.
    const {
      ConvohouseWebhooksRefused: _,
      ConvohouseIngestStalled: __,
      ...missing
    } = perWorkspace({ workspace: 'ws_2' })
    for (const one of cases.filter(({ name }) => name === 'ConvohouseWorkspaceAbsent'))
      Object.assign(one.firing, missing)
    const firing: Case['firing'] = {}
    for (const [alert, labels] of cases.flatMap(one => Object.entries(one.firing)))
      firing[alert] = [...new Set([...(firing[alert] ?? []), ...labels])]
    const changes = Object.fromEntries(TRIGGERS.map(([, metric, values]) => [metric, values]))
    const all = { name: 'all', series: { ...HEALTHY, ...changes }, firing }
    expect(await run(isDeep ? cases : [all])).toEqual(PASSED)
  })

  it('fire if the series that they use is absent', async () => {
    const absent = Object.entries(ABSENT)
    const cases = (isDeep ? absent.map(one => [one]) : [absent]).map(some => ({
      name: `${some.map(([, { metric }]) => metric)} absent`,
      series: without(...some.map(([, { metric }]) => metric)),
      firing: Object.fromEntries(some.map(([alert, { labels }]) => [alert, [labels]])),
    }))
    expect(await run(cases)).toEqual(PASSED)
  })

  it('use only documented metrics', () => {
    const page = readFileSync(join(ROOT, 'docs/telemetry.md'), 'utf8')
    const asked = new Set(rules.flatMap(({ expr }) => expr.match(/convohouse_\w+/g) ?? []))
    expect(asked.size).toBeGreaterThan(8)
    expect([...asked].filter(name => !page.includes(`| \`${name}\` |`))).toEqual([])
  })
})
