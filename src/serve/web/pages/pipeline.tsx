// The operator's page: what needs somebody, and everything that `convohouse status` knows, live.
import type { ComponentChildren } from 'preact'
import { outcomeText } from '../../../core/run-record.ts'
import { formatDuration } from '../../../core/time.ts'
import { bytes, counted } from '../../../core/words.ts'
import { useMay, useQuota } from '../api/pages.ts'
import { type Health, useHealth } from '../api/pipeline.ts'
import { CoverageStrips } from '../charts/coverage-strips.tsx'
import { ageText, agoText, timeText } from '../format/dates.ts'
import { countText } from '../format/values.ts'
import { Answered, Empty } from '../parts/states.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { Tile } from '../parts/tile.tsx'
import { lackText, needsOf, type Pipeline, type ShownRun, type ShownStatus } from '../state/needs.ts'
import { projectionOf } from '../state/quota-projection.ts'
import { Quota } from './quota.tsx'

export function PipelinePage() {
  const mayHealth = useMay('health')
  return mayHealth ? <Live /> : <Empty>This page needs a token with the scope `health`.</Empty>
}

function Live() {
  const answer = useHealth()
  return (
    <Answered answer={answer} height={600}>
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
        <Facts
          id="runs"
          title="How did the syncs go?"
          subtitle="The last run, and the last that failed"
          pipeline={pipeline}
          factsOf={status => runFacts(status, nowMs)}
        />
        <Facts
          id="events"
          title="Do webhook events arrive?"
          subtitle="By type · received and applied"
          pipeline={pipeline}
          factsOf={status => eventFacts(status, nowMs)}
        />
        <Facts
          id="findings"
          title="Is the data as the vendor describes it?"
          subtitle="What loading found"
          width="full"
          pipeline={pipeline}
          factsOf={findingFacts}
        />
        <Targets {...known} />
      </div>
    </>
  )
}

/** Backquoted commands are shown as code. */
const withCode = (text: string): ComponentChildren =>
  text.split('`').map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))

function Needs({ pipeline, nowMs }: Known) {
  const needs = needsOf(pipeline, nowMs)
  return (
    <section class={needs.length > 0 ? 'needs card some' : 'needs card'} aria-label="What needs you" role="status">
      <h2>
        {needs.length === 0
          ? 'Nothing needs you.'
          : `${counted(needs.length, 'thing')} ${needs.length === 1 ? 'needs' : 'need'} you`}
      </h2>
      {needs.length > 0 && (
        <ul>
          {needs.map(({ what, hint }) => (
            <li key={what}>
              {what}. {hint && <span class="note">{withCode(hint)}</span>}
            </li>
          ))}
        </ul>
      )}
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
    <Tile
      id="agents"
      title="How fresh is each agent?"
      subtitle="Time since the newest export and conversation"
      width="full"
    >
      {rows.length === 0 ? (
        <Empty>No agent is known yet. `convohouse sync` reads them.</Empty>
      ) : (
        <DataTable caption="How fresh is each agent?" columns={columns} rows={rows} sort="sort-agents" />
      )}
    </Tile>
  )
}

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

interface Fact {
  name: string
  text: string
  note?: ComponentChildren
}

interface FactsProps {
  id: string
  title: string
  subtitle: string
  width?: 'full'
  pipeline: Pipeline
  factsOf: (status: ShownStatus) => readonly (Fact | false)[]
}

/** A tile with facts of each workspace. */
const Facts = ({ pipeline, factsOf, ...tile }: FactsProps) => (
  <Tile {...tile}>
    {pipeline.workspaces.map(status => (
      <section key={status.workspaceId}>
        {several(pipeline) && <h3>{status.workspaceId}</h3>}
        <dl class="named">
          {factsOf(status).map(
            fact =>
              fact && (
                <div key={fact.name}>
                  <dt class="muted">{fact.name}</dt>
                  <dd>
                    {fact.text}
                    {fact.note && <span class="note block">{fact.note}</span>}
                  </dd>
                </div>
              ),
          )}
        </dl>
      </section>
    ))}
  </Tile>
)

/** Codes leave the server; texts of errors do not, since they may quote data. */
const why = (run: ShownRun | null) =>
  run?.errorCode &&
  withCode(`\`${run.errorCode}\`: docs/errors.md explains it, and \`convohouse status\` shows the text and what to do.`)

const runFacts = ({ lastRun, lastFailure }: ShownStatus, nowMs: number) => [
  {
    name: 'Last run',
    text: lastRun ? stateText(lastRun, nowMs) : 'none yet: `convohouse sync` starts one',
    note: lastRun?.success === false && why(lastRun),
  },
  lastFailure?.run !== lastRun?.run && {
    name: 'Last failure',
    text: lastFailure ? stateText(lastFailure, nowMs) : 'none',
    note: why(lastFailure),
  },
]

const eventFacts = ({ events }: ShownStatus, nowMs: number) => [
  events.received === 0 && {
    name: 'Events',
    text: 'none received: only webhooks carry messages (docs/webhooks.md)',
  },
  ...events.types.map(({ type, events: number, last }) => ({
    name: type.replaceAll('_', ' '),
    text: `${counted(number, 'event')}, the last ${agoText(last, nowMs)}`,
  })),
  {
    name: 'Waiting',
    text: counted(events.waiting, 'event') + (events.waiting > 0 ? ` (${bytes(events.waitingBytes)})` : ''),
  },
  {
    name: 'Conversations',
    text: `${countText(events.conversationsChanged)} changed since they were exported, ${countText(events.conversationsNotExported)} not exported yet`,
  },
]

const findingFacts = ({ findings }: ShownStatus) => [
  {
    name: 'Drift',
    text: counted(findings.driftPaths, 'undeclared field'),
    note: findings.driftPaths > 0 && withCode('kept in extra; `convohouse query "FROM _drift"` shows them'),
  },
  {
    name: 'Data issues',
    text: `${countText(findings.issues)} on ${counted(findings.issuePaths, 'path')}`,
    note: findings.issues > 0 && withCode('`convohouse query "FROM _issues"` shows them'),
  },
  { name: 'Quarantine', text: counted(findings.quarantined, 'record') },
  { name: 'Secrets', text: `${countText(findings.secretsRemoved)} removed before landing` },
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
    <Tile
      id="targets"
      title="Are the published copies current?"
      subtitle="By target · time since its rows were read"
      width="full"
    >
      {targets.length === 0 ? (
        <p class="note">No target is configured besides the snapshot that this dashboard reads (docs/publishing.md).</p>
      ) : (
        <DataTable caption="Are the published copies current?" columns={columns} rows={targets} sort="sort-targets" />
      )}
    </Tile>
  )
}
