// The operator's page: what needs somebody, and everything that `convohouse status` knows, live.
import type { ComponentChildren } from 'preact'
import { outcomeText } from '../../../core/run-record.ts'
import { formatDuration } from '../../../core/time.ts'
import { bytes, counted } from '../../../core/words.ts'
import { useMay, useQuota } from '../api/pages.ts'
import { type Health, useHealth } from '../api/pipeline.ts'
import { CoverageStrips, missingDays, useCoverage } from '../charts/coverage-strips.tsx'
import { ageText, agoText, timeText } from '../format/dates.ts'
import { countText } from '../format/values.ts'
import { Answered, Empty, Skeleton } from '../parts/states.tsx'
import { type Column, DataTable, type Table } from '../parts/table.tsx'
import { Tile } from '../parts/tile.tsx'
import { lackText, needsOf, type Pipeline, type ShownRun, type ShownStatus } from '../state/needs.ts'
import { projectionOf } from '../state/quota-projection.ts'
import { Quota } from './quota.tsx'

export function PipelinePage() {
  return (
    <Answered answer={useHealth()} height={600}>
      {health =>
        health.pipeline ? (
          <State health={health} pipeline={health.pipeline} />
        ) : (
          <Empty>
            The state of the pipeline cannot be read now, as happens while another process begins to hold the warehouse.
            It is tried again every 15 seconds; `convohouse status` says why if it lasts.
          </Empty>
        )
      }
    </Answered>
  )
}

interface Known {
  pipeline: Pipeline
  nowMs: number
}

function State({ health, pipeline }: { health: Health; pipeline: Pipeline }) {
  const nowMs = Date.now()
  const mayMetrics = useMay('metrics')
  const isOld = nowMs - health.readAtMs > 60_000
  const known = { pipeline, nowMs }
  return (
    <>
      <Needs {...known} />
      <p class={isOld ? 'note doubt' : 'note'} aria-live="off">
        State of {timeText(new Date(health.readAtMs).toISOString())}, renewed every 15 seconds; the figures of the other
        pages are {ageText(health.ageSeconds)} old.
      </p>
      {pipeline.workspaces.map(status => (
        <Cards key={status.workspaceId} status={status} nowMs={nowMs} isOne={pipeline.workspaces.length === 1} />
      ))}
      <div class="tiles">
        <Agents {...known} />
        {mayMetrics && <CoverageStrips />}
        {mayMetrics && <Quota id="quota" spec={{ title: 'Will the quota last?', below: undefined, width: 'full' }} />}
        {FACTS.map(({ factsOf, ...tile }) => (
          <Tile key={tile.id} {...tile}>
            {pipeline.workspaces.map(status => (
              <Facts
                key={status.workspaceId}
                of={several(pipeline) ? status.workspaceId : null}
                facts={factsOf(status, nowMs)}
              />
            ))}
          </Tile>
        ))}
        <Targets {...known} />
      </div>
    </>
  )
}

/** Backquoted commands are shown as code. */
const withCode = (text: string): ComponentChildren =>
  text.split('`').map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))

/** Returns what was not read between exported spans, for readers who see no figures. */
const gapsOf = ({ workspaces }: Pipeline): string[] =>
  workspaces
    .flatMap(({ agents }) => agents)
    .filter(({ gaps }) => gaps.length > 0)
    .map(({ title, agentId, gaps }) => `${title ?? agentId}: ${counted(gaps.length, 'gap')}`)

/** Agents whose missing days are named at the top; the strips of days show all. */
const NAMED = 3

function Needs({ pipeline, nowMs }: Known) {
  const needs = needsOf(pipeline, nowMs)
  const mayMetrics = useMay('metrics')
  const coverage = useCoverage(mayMetrics)
  // Not before it is known whether days are missing.
  if (mayMetrics && coverage.data === null && !coverage.problem) return <Skeleton height={56} />
  const missing = coverage.data ? missingDays(coverage.data[0]!) : gapsOf(pipeline)
  const [state, title] =
    needs.length > 0
      ? ['some', counted(needs.length, 'thing needs you', 'things need you')]
      : missing.length > 0
        ? ['missing', 'Nothing failed, but days are not exported completely.']
        : ['', 'Nothing needs you.']
  return (
    <section class={`needs card ${state}`} aria-label="What needs you" role="status">
      <h2>{title}</h2>
      <ul>
        {needs.map(({ what, hint }) => (
          <li key={what}>
            {what}. {hint && <span class="note">{withCode(hint)}</span>}
          </li>
        ))}
        {missing.length > 0 && (
          <li>
            {missing.slice(0, NAMED).join('; ')}
            {missing.length > NAMED && ` and ${counted(missing.length - NAMED, 'more agent')}`}.{' '}
            <span class="note">
              {withCode('The next sync exports what it can; `convohouse plan` shows it, and what it costs.')}
            </span>
          </li>
        )}
      </ul>
    </section>
  )
}

function Card({ title, value, children }: { title: string; value: string; children?: ComponentChildren }) {
  return (
    <article class="figure card short">
      <h2>{title}</h2>
      <p class="value">{value}</p>
      <p class="change note">{children}</p>
    </article>
  )
}

function Cards({ status, nowMs, isOne }: { status: ShownStatus; nowMs: number; isOne: boolean }) {
  const { workspaceId, lastSuccess, lastRun, quota, events, landing, newestAt, conversations, openWindows } = status
  const projected = useQuota().data?.find(({ workspace }) => workspace === workspaceId)
  const projection = projected ? projectionOf(projected) : null
  return (
    <section class="stack" aria-label={`Workspace ${workspaceId}`}>
      {!isOne && <h2>{workspaceId}</h2>}
      <div class="columns">
        <Card title="Last successful sync" value={agoText(lastSuccess?.endedAt ?? null, nowMs)}>
          {lastRun && lastRun.state !== 'ended'
            ? `now: ${stateText(lastRun, nowMs)}`
            : lastSuccess && countsText(lastSuccess)}
        </Card>
        <Card title="Newest conversation" value={agoText(newestAt, nowMs, 'none')}>
          {counted(conversations, 'conversation')} stored
          {openWindows > 0 && `, ${counted(openWindows, 'window')} not finished`}
        </Card>
        <Card title="Sessions used" value={quota ? countText(quota.usedSessions) : 'not reported'}>
          {quota && `of ${countText(quota.includedSessions)} included`}
          {projection && `; ${countText(projection.atEnd)} at the end of the period at the present pace`}
          {quota &&
            quota.unansweredSessions > 0 &&
            `; up to ${countText(quota.unansweredSessions)} more may have been billed by unanswered requests`}
        </Card>
        <Card title="Requests left in this hour" value={quota ? countText(quota.requestsLeft) : 'not reported'}>
          {quota && `of ${countText(quota.requestsPerHour)}; reported ${agoText(quota.reportedAt, nowMs)}`}
        </Card>
        <Card title="Waiting to be loaded" value={counted(events.waiting, 'event')}>
          {events.waitingSince && `the oldest came ${agoText(events.waitingSince, nowMs)}; `}
          {counted(landing.notLoaded, 'page')} of {countText(landing.pages)} in the landing ({bytes(landing.bytes)})
        </Card>
      </div>
    </section>
  )
}

const several = ({ workspaces }: Pipeline): boolean => workspaces.length > 1

function Agents({ pipeline, nowMs }: Known) {
  const rows = pipeline.workspaces.flatMap(status => status.agents.map(agent => ({ ...agent, of: status.workspaceId })))
  const columns: Column<(typeof rows)[number]>[] = [
    {
      key: 'agent',
      title: 'Agent',
      value: ({ title, agentId, missingSince }) =>
        `${title ?? agentId}${missingSince ? ` (gone since ${timeText(missingSince)})` : ''}`,
    },
    ...(several(pipeline) ? [{ key: 'workspace', title: 'Workspace', value: ({ of }: { of: string }) => of }] : []),
    ago('read', 'Exported through', ({ covered }) => covered.at(-1)?.to ?? null, nowMs, 'nothing yet'),
    ago('newest', 'Newest conversation', ({ newestAt }) => newestAt, nowMs, 'none'),
    count('stored', 'Conversations', ({ conversations }) => conversations),
    count('gaps', 'Gaps', ({ gaps }) => gaps.length, 'Spans between exported ones that were not read'),
    count('open', 'Windows not finished', ({ openWindows }) => openWindows),
  ]
  return (
    <Rows
      id="agents"
      title="How fresh is each agent?"
      subtitle="Time since the newest export and conversation"
      none="No agent is known yet. `convohouse sync` reads them."
      {...{ columns, rows }}
    />
  )
}

type RowsProps<Row> = Table<Row> & { id: string; title: string; subtitle: string; none: string }

const Rows = <Row,>({ columns, rows, none, ...tile }: RowsProps<Row>) => (
  <Tile {...tile} width="full">
    {rows.length === 0 ? (
      <Empty>{none}</Empty>
    ) : (
      <DataTable caption={tile.title} columns={columns} rows={rows} sort={`sort-${tile.id}`} />
    )}
  </Tile>
)

/** A column of points in time, shown as how long ago they were. */
const ago = <Row,>(
  key: string,
  title: string,
  of: (row: Row) => string | null,
  nowMs: number,
  none: string,
): Column<Row> => ({
  ...{ key, title, isNumber: true, value: of },
  cell: row => <span title={of(row) ? timeText(of(row)!) : undefined}>{agoText(of(row), nowMs, none)}</span>,
})

const count = <Row,>(key: string, title: string, value: (row: Row) => number, about?: string): Column<Row> => ({
  ...{ key, title, about, isNumber: true, value },
  cell: row => countText(value(row)),
})

const byText = ({ origin }: ShownRun): string => (origin ? ` by ${origin}` : '')

const countsText = ({ conversations, requests, sessions }: ShownRun): string =>
  [
    counted(conversations ?? 0, 'conversation'),
    counted(requests ?? 0, 'request'),
    counted(sessions ?? 0, 'session'),
  ].join(', ')

function stateText(run: ShownRun, nowMs: number): string {
  const started = `started ${agoText(run.startedAt, nowMs)}${byText(run)}`
  switch (run.state) {
    case 'running':
      return `running, ${started}`
    case 'paused':
      return `paused ${agoText(run.pausedAt, nowMs)}, ${started}`
    case 'waiting':
      return `waiting for a Temporal worker, ${started}`
    case 'killed':
      return `killed, last seen ${agoText(run.endedAt, nowMs)}, ${started}`
    case 'ended':
      return `${outcomeText(run.outcome ?? 'ended', run.success === true)} ${agoText(run.endedAt, nowMs)}${byText(run)}, after ${formatDuration(run.durationMs ?? 0)} (${countsText(run)})`
  }
}

/** Name, text and a note below it. */
type Fact = readonly [name: string, text: string, note?: ComponentChildren]

const Facts = ({ of, facts }: { of: string | null; facts: readonly (Fact | false)[] }) => (
  <section>
    {of && <h3>{of}</h3>}
    <dl class="named">
      {facts
        .filter(fact => fact !== false)
        .map(([name, text, note]) => (
          <div key={name}>
            <dt class="muted">{name}</dt>
            <dd>
              {text}
              {note && <span class="note block">{note}</span>}
            </dd>
          </div>
        ))}
    </dl>
  </section>
)

/** Codes leave the server; texts of errors do not, since they may quote data. */
const why = (run: ShownRun | null) =>
  run?.errorCode &&
  withCode(`\`${run.errorCode}\`: docs/errors.md explains it, and \`convohouse status\` shows the text and what to do.`)

const runFacts = ({ lastRun, lastFailure }: ShownStatus, nowMs: number): (Fact | false)[] => [
  [
    'Last run',
    lastRun ? stateText(lastRun, nowMs) : 'none yet: `convohouse sync` starts one',
    lastRun?.success === false && why(lastRun),
  ],
  lastFailure?.run !== lastRun?.run && [
    'Last failure',
    lastFailure ? stateText(lastFailure, nowMs) : 'none',
    why(lastFailure),
  ],
]

const eventFacts = ({ events }: ShownStatus, nowMs: number): (Fact | false)[] => [
  events.received === 0 && ['Events', 'none received: only webhooks carry messages (docs/webhooks.md)'],
  ...events.types.map(
    ({ type, events: number, last }): Fact => [
      type.replaceAll('_', ' '),
      `${counted(number, 'event')}, the last ${agoText(last, nowMs)}`,
    ],
  ),
  ['Waiting', counted(events.waiting, 'event') + (events.waiting > 0 ? ` (${bytes(events.waitingBytes)})` : '')],
  [
    'Conversations',
    `${countText(events.conversationsChanged)} changed since they were exported, ${countText(events.conversationsNotExported)} not exported yet`,
  ],
]

const findingFacts = ({ findings }: ShownStatus): Fact[] => [
  [
    'Drift',
    counted(findings.driftPaths, 'undeclared field'),
    findings.driftPaths > 0 && withCode('kept in extra; `convohouse query "FROM _drift"` shows them'),
  ],
  [
    'Data issues',
    `${countText(findings.issues)} on ${counted(findings.issuePaths, 'path')}`,
    findings.issues > 0 && withCode('`convohouse query "FROM _issues"` shows them'),
  ],
  ['Quarantine', counted(findings.quarantined, 'record')],
  ['Secrets', `${countText(findings.secretsRemoved)} removed before landing`],
]

/** Tiles with facts of each workspace. */
const FACTS = [
  {
    ...{ id: 'runs', title: 'How did the syncs go?', subtitle: 'The last run, and the last that failed' },
    factsOf: runFacts,
  },
  {
    ...{ id: 'events', title: 'Do webhook events arrive?', subtitle: 'By type · received and applied' },
    factsOf: eventFacts,
  },
  {
    ...{ id: 'findings', title: 'Is the data as the vendor describes it?', subtitle: 'What loading found' },
    ...{ width: 'full' as const, factsOf: findingFacts },
  },
]

function Targets({ pipeline: { targets }, nowMs }: Known) {
  const columns: Column<Pipeline['targets'][number]>[] = [
    { key: 'target', title: 'Target', value: ({ target }) => target },
    { key: 'type', title: 'Type', value: ({ type }) => type },
    ago('published', 'Published', ({ asOf }) => asOf, nowMs, 'never'),
    { key: 'lack', title: 'Lacks', value: ({ lagSeconds }) => lagSeconds, cell: lackText },
    {
      key: 'failure',
      title: 'Last failure',
      value: ({ failure }) => failure?.at ?? null,
      cell: ({ failure }) => (failure ? `${agoText(failure.at, nowMs)}: ${failure.code}` : 'none'),
    },
  ]
  return (
    <Rows
      id="targets"
      title="Are the published copies current?"
      subtitle="By target · time since its rows were read"
      none="No target is configured besides the snapshot that this dashboard reads (docs/publishing.md)."
      {...{ columns, rows: targets }}
    />
  )
}
