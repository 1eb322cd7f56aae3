// deploy/grafana/dashboards/conversations.json: panels of declared metrics. `npm run docs` writes it.
import { writeFileSync } from 'node:fs'
import type { Metric, MetricUnit } from '../src/metrics/declaration.ts'
import { chosen, type Draft, metricNamed, panelSql, schema } from './panel-sql.ts'

const SOURCE = { type: 'grafana-postgresql-datasource', uid: `\${datasource}` }

const UNITS: Record<MetricUnit, { unit: string; decimals: number }> = {
  count: { unit: 'short', decimals: 0 },
  share: { unit: 'percentunit', decimals: 1 },
  seconds: { unit: 's', decimals: 0 },
  usd: { unit: 'currencyUSD', decimals: 2 },
  tokens: { unit: 'short', decimals: 0 },
  score: { unit: 'short', decimals: 2 },
  money: { unit: 'short', decimals: 2 },
  unstated: { unit: 'short', decimals: 2 },
}

/** An average of counts is no whole number. */
const unitOf = ({ unit, denominator }: Metric) => ({
  ...UNITS[unit],
  ...(unit === 'count' && denominator && { decimals: 1 }),
})

const SERIES = {
  legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: true },
  tooltip: { mode: 'multi', sort: 'desc' },
}

const KINDS = {
  stat: {
    ...{ type: 'stat', w: 4, h: 4, color: 'thresholds', custom: {} },
    options: {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      ...{ colorMode: 'value', graphMode: 'none', textMode: 'auto' },
    },
  },
  bars: {
    ...{ type: 'timeseries', w: 12, h: 8, color: 'palette-classic', options: SERIES },
    custom: {
      ...{ drawStyle: 'bars', fillOpacity: 80, lineWidth: 0, barAlignment: 0 },
      stacking: { mode: 'normal', group: 'A' },
    },
  },
  lines: {
    ...{ type: 'timeseries', w: 12, h: 8, color: 'palette-classic', options: SERIES },
    custom: { drawStyle: 'line', lineWidth: 2, fillOpacity: 0, showPoints: 'auto', spanNulls: false },
  },
  table: {
    ...{ type: 'table', w: 24, h: 8, color: 'palette-classic', custom: {} },
    options: { showHeader: true, cellHeight: 'sm' },
  },
} as const

interface Figure {
  kind: Draft['kind']
  title: string
  description: string
  sql: string
  units: { title: string; unit: string; decimals: number }[]
  color?: object
}

function figureOf(draft: Draft): Figure {
  const all = draft.metrics.map(metricNamed)
  const about = ({ title, definition, misleads }: Metric) =>
    all.length === 1 ? `${definition} ${misleads}` : `${title}: ${definition} ${misleads}`
  return {
    kind: draft.kind,
    title: draft.title ?? all[0]!.title,
    description: all.map(about).join('\n\n'),
    sql: panelSql(draft),
    units: all.map(metric => ({ title: metric.title, ...unitOf(metric) })),
  }
}

const stats = (...metrics: string[]): Figure[] => metrics.map(name => figureOf({ kind: 'stat', metrics: [name] }))

/** What is no metric: how fresh the target is. */
const FRESHNESS: Figure[] = [
  {
    ...{ kind: 'stat', title: 'Age of the published data', units: [{ title: 'seconds', unit: 's', decimals: 0 }] },
    description: 'Since the rows of the last publication were read. Nothing is published while nothing changes.',
    sql: `SELECT extract(epoch FROM now()) - extract(epoch FROM as_of) AS seconds\nFROM ${schema('tables')}._publication`,
  },
  {
    ...{ kind: 'table', title: 'Freshness of agents', description: 'Incomplete: not read whole yet.', units: [] },
    sql: `SELECT agent_title AS agent, conversations, newest_conversation_at, newest_activity_at, newest_observation_at, incomplete, stale, missing
FROM ${schema('marts')}.freshness
WHERE workspace_id IN (${chosen('workspace')}) AND agent_id IN (${chosen('agent')})
ORDER BY newest_observation_at`,
  },
]

const RATES = ['automation_rate', 'resolution_rate', 'takeover_rate', 'reopening_rate']
const COSTS = ['credits', 'llm_cost', 'speech_cost', 'transcriber_cost', 'call_cost']
const BACKLOG = ['backlog_open', 'backlog_waiting', 'backlog_older_than_1_day', 'backlog_older_than_7_days']
const HANDOFFS = [
  'handoffs',
  'handoff_acceptance_rate',
  'handoff_wait_median',
  'handoff_wait_p90',
  'handoff_handling_median',
]
const ANSWERS = ['csat_score', 'csat_answers', 'csat_answer_rate']

const ROWS: Record<string, Figure[]> = {
  'Conversations that began in the time range': [
    ...stats('conversations', ...RATES, 'contacts'),
    figureOf({ kind: 'bars', metrics: ['conversations'], title: 'Conversations by channel', split: ['channel'] }),
    figureOf({ kind: 'bars', metrics: ['conversations'], title: 'Conversations by outcome', split: ['outcome'] }),
    figureOf({ kind: 'lines', metrics: RATES, title: 'Automation and resolution, by week', grain: 'week' }),
    figureOf({ kind: 'lines', metrics: ['time_to_resolution_median'], grain: 'week' }),
    figureOf({
      ...{ kind: 'table', title: 'Agents', split: ['agent'] },
      metrics: ['conversations', ...RATES, 'csat_score', 'usd_per_conversation'],
    }),
  ],
  'Handoffs that were requested in the time range': [
    ...stats(...HANDOFFS),
    figureOf({ kind: 'bars', metrics: ['handoffs'], title: 'Handoffs by team', split: ['team'] }),
    figureOf({
      ...{ kind: 'lines', title: 'Wait for a person, by week', grain: 'week' },
      metrics: ['handoff_wait_median', 'handoff_wait_p90'],
    }),
    figureOf({ kind: 'table', metrics: HANDOFFS, title: 'Teams that were asked for', split: ['team'] }),
    figureOf({ kind: 'table', metrics: HANDOFFS, title: 'People who accepted', split: ['accepted_by'] }),
  ],
  'Backlog at the end of each day': [
    ...stats(...BACKLOG),
    figureOf({ kind: 'lines', metrics: BACKLOG, title: 'Backlog' }),
    figureOf({ kind: 'bars', metrics: ['backlog_open'], title: 'Open, by agent', split: ['agent'] }),
  ],
  'Satisfaction with conversations that began in the time range': [
    ...stats(...ANSWERS),
    figureOf({ kind: 'lines', metrics: ['csat_score'], title: 'Satisfaction, by week', grain: 'week' }),
    figureOf({ kind: 'bars', metrics: ['csat_answers'], title: 'Survey answers, by day' }),
  ],
  'Topics and leads of conversations that began in the time range': [
    figureOf({
      ...{ kind: 'table', title: 'Tags', split: ['tag'] },
      metrics: ['tagged_conversations', 'tag_resolved_rate', 'tag_csat_score'],
    }),
    figureOf({
      ...{ kind: 'table', title: 'Leads, by stage and currency', split: ['lead_stage', 'currency'] },
      metrics: ['leads', 'lead_value'],
    }),
  ],
  'Spent in the time range, by conversations of any day': [
    ...stats('tokens_usd', 'tokens'),
    figureOf({ kind: 'bars', metrics: ['tokens_usd'], title: 'Cost of tokens by agent', split: ['agent'] }),
    figureOf({ kind: 'bars', metrics: ['model_tokens_usd'], split: ['model'] }),
    figureOf({ kind: 'lines', metrics: COSTS, title: 'Other costs' }),
  ],
  'Freshness, whatever the time range': FRESHNESS,
}

const WIDTH = 24

/** Puts panels of one height beside each other until the line is full. */
function laidOut(rows: typeof ROWS): object[] {
  const panels: object[] = []
  let [x, y, height] = [0, 0, 0]
  const place = (w: number, h: number) => {
    if (x + w > WIDTH || (x > 0 && h !== height)) [x, y, height] = [0, y + height, 0]
    const gridPos = { h, w, x, y }
    ;[x, height] = [x + w, Math.max(height, h)]
    return { id: panels.length + 1, gridPos }
  }
  for (const [title, figures] of Object.entries(rows)) {
    panels.push({ ...place(WIDTH, 1), type: 'row', title, collapsed: false, panels: [] })
    for (const { kind, title, description, sql, units } of figures) {
      const { type, w, h, color, custom, options } = KINDS[kind]
      const [{ title: _, ...unit } = {} as Figure['units'][number]] = kind === 'table' ? [] : units
      const overrides = (kind === 'table' ? units : []).map(({ title, ...unit }) => ({
        matcher: { id: 'byName', options: title },
        properties: Object.entries(unit).map(([id, value]) => ({ id, value })),
      }))
      const thresholds = { mode: 'absolute', steps: [{ color: 'text', value: null }] }
      const format = type === 'timeseries' ? 'time_series' : 'table'
      panels.push({
        ...{ ...place(w, h), type, title, description, datasource: SOURCE, options },
        fieldConfig: {
          defaults: { custom, color: { mode: color }, ...unit, ...(kind === 'stat' && { thresholds }) },
          overrides,
        },
        targets: [{ refId: 'A', datasource: SOURCE, editorMode: 'code', format, rawQuery: true, rawSql: sql }],
      })
    }
  }
  return panels
}

const choice = (name: string, query: string) => ({
  ...{ name, label: `${name[0]!.toUpperCase()}${name.slice(1)}`, type: 'query', datasource: SOURCE, query },
  ...{ multi: true, includeAll: true, current: { text: ['All'], value: ['$__all'] }, options: [] },
  ...{ refresh: 1, sort: 0, hide: 0, regex: '', skipUrlSync: false },
})

const constant = (name: string, value: string) => {
  const current = { text: value, value, selected: true }
  return { name, type: 'constant', query: value, current, options: [current], hide: 2, skipUrlSync: true }
}

const IN_WORKSPACES = `WHERE workspace_id IN (${chosen('workspace')})`

/** Returns the dashboard. */
export const conversationsDashboard = (): object => ({
  ...{ uid: 'convohouse-conversations', title: 'Conversations', tags: ['convohouse'] },
  description: `Declared metrics of convohouse (docs/metrics.md); with too few observations a value is empty. Days are days of the workspace's time zone, so the dashboard's own time zone is UTC.`,
  ...{ schemaVersion: 41, version: 1, editable: true, graphTooltip: 1, timezone: 'utc', weekStart: '', refresh: '15m' },
  ...{ time: { from: 'now-30d/d', to: 'now+1d/d' }, timepicker: {}, annotations: { list: [] }, links: [] },
  fiscalYearStartMonth: 0,
  templating: {
    list: [
      {
        ...{ name: 'datasource', label: 'Data source', type: 'datasource', query: SOURCE.type },
        ...{ current: { text: 'convohouse', value: 'convohouse' }, options: [], hide: 0, includeAll: false },
        ...{ multi: false, refresh: 1, regex: '', skipUrlSync: false },
      },
      constant('tables', 'convohouse'),
      constant('marts', 'convohouse_marts'),
      choice('workspace', `SELECT DISTINCT workspace_id FROM ${schema('marts')}.dim_agents ORDER BY 1`),
      choice(
        'agent',
        `SELECT agent_title AS __text, agent_id AS __value FROM ${schema('marts')}.dim_agents ${IN_WORKSPACES} ORDER BY 1, 2`,
      ),
      choice(
        'channel',
        `SELECT DISTINCT channel FROM ${schema('marts')}.conversations_daily ${IN_WORKSPACES} ORDER BY 1`,
      ),
    ],
  },
  panels: laidOut(ROWS),
})

if (process.argv[1] === import.meta.filename)
  writeFileSync(process.argv[2]!, `${JSON.stringify(conversationsDashboard(), null, 2)}\n`)
