// One conversation: its facts, and in one column of time what was said, its states, handoffs, events and costs.
import { type ComponentChildren, Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { listAddress, type Row, type Told, useConversation } from '../api/conversations.ts'
import { valueCell } from '../format/cells.ts'
import { clockText, dateText, ownZone, timeText } from '../format/dates.ts'
import { countText, durationText, valueText } from '../format/values.ts'
import { Outcome } from '../parts/outcome.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { DataTable } from '../parts/table.tsx'
import { CopyButton } from '../parts/tile.tsx'
import { wordOf } from '../state/colours.ts'
import { path } from '../state/location.ts'
import { type Moment, momentsOf } from './moments.ts'

export function Conversation() {
  void path.value
  // As it is encoded, since ids may have slashes.
  const key = location.pathname.split('/').slice(-3).join('/')
  const answer = useConversation(key)
  return (
    <div class="conversation stack">
      <p>
        <a href={listAddress()}>Back to the list</a>
      </p>
      {answer.problem?.code === 'CONVERSATION_UNKNOWN' ? (
        <Empty>
          <p>There is no conversation at this address.</p>
          <p class="note">If it is new, it is there after the next publication. The vendor may have deleted it.</p>
        </Empty>
      ) : (
        <Answered answer={answer} height={640}>
          {told => <Whole told={told} />}
        </Answered>
      )}
    </div>
  )
}

function Whole({ told }: { told: Told }) {
  const { conversation: row, whyNoTranscript } = told
  const id = String(row.conversation_id)
  const started = row.started_at as string | null
  return (
    <>
      <section class="tile card stack" aria-label="Facts">
        <h2>
          {row.agent_title ?? row.agent_id}, {wordOf('channel', row.channel)}
          {started && `, ${timeText(started)}`}
        </h2>
        <p class="note">
          {id} <CopyButton text={() => id}>Copy id</CopyButton>
        </p>
        {doubtsOf(row).map(doubt => (
          <p class="note doubt" key={doubt}>
            {doubt}
          </p>
        ))}
        <dl class="columns">
          {factsOf(row).map(([title, text]) => (
            <div key={title}>
              <dt class="note">{title}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section class="tile card stack" aria-label="What happened">
        <h2>What happened</h2>
        <p class="note">
          {whyNoTranscript === null ? 'Messages, states' : 'States'}, handoffs, events and costs in the order of time ·{' '}
          {ownZone}
        </p>
        {whyNoTranscript !== null && <p class="note">There is no transcript. {whyNoTranscript.replaceAll('`', '')}</p>}
        <TimeLine moments={momentsOf(told)} />
      </section>
      <details class="card">
        <summary>All fields</summary>
        <DataTable
          caption="All fields"
          columns={[
            { key: 'field', title: 'Field', value: ([field]) => field },
            { key: 'value', title: 'Value', value: ([, value]) => valueCell(value) },
          ]}
          rows={Object.entries(row)}
          sort={null}
        />
      </details>
    </>
  )
}

function doubtsOf(row: Row): string[] {
  const doubts: [boolean, string][] = [
    [row.is_test === true, 'A test: it counts in no figure.'],
    [row.is_complete === false, 'Known from events alone: it was not exported yet, so it counts in no figure.'],
    [row.is_stale === true && row.is_complete === true, 'It has changed since it was exported: some fields are older.'],
    [row.is_missing === true, 'The vendor no longer has it.'],
  ]
  return doubts.filter(([is]) => is).map(([, text]) => text)
}

const isKnown = (value: Row[string] | undefined) => value !== null && value !== undefined && value !== 'unknown'

/** Facts with units; those that are not known are left out. */
function factsOf(row: Row): [string, ComponentChildren][] {
  const seconds = (value: Row[string]) => durationText(value as number)
  const count = (value: Row[string]) => countText(value as number)
  const unit = (name: 'usd' | 'score' | 'tokens' | 'unstated') => (value: Row[string]) =>
    valueText(value as number, name)
  const facts: [string, string, (value: Row[string]) => ComponentChildren][] = [
    ['Outcome', 'outcome', value => <Outcome value={String(value)} />],
    ['State', 'state', value => wordOf('state', value)],
    ['Reason of the end', 'end_reason', value => wordOf('end_reason', value)],
    ['Last message', 'last_activity_at', value => timeText(String(value))],
    ['Duration', 'duration_seconds', seconds],
    ['Messages', 'messages', count],
    ['Sessions', 'sessions', count],
    ['First reply after', 'first_response_seconds', seconds],
    ['First reply by a person after', 'first_human_response_seconds', seconds],
    ['Handoffs', 'handoffs', value => `${count(value)} (${count(row.handoffs_accepted ?? 0)} accepted)`],
    ['Longest wait for a person', 'handoff_longest_wait_seconds', seconds],
    ['Assignee', 'assignee_name', value => wordOf('assignee', value)],
    ['Resolved by', 'resolved_by_name', value => wordOf('assignee', value)],
    ['Contact', 'contact_name', value => wordOf('assignee', value)],
    ['Language', 'language_name', String],
    ['Country', 'country_code', String],
    ['Satisfaction (scale not stated)', 'csat_score', unit('score')],
    ['Ease (scale not stated)', 'csat_ease', unit('score')],
    ['Rating (scale not stated)', 'rating_from5', unit('score')],
    ['Cost of tokens', 'tokens_usd', unit('usd')],
    ['Tokens', 'tokens', unit('tokens')],
    ['Credits', 'credits', count],
    ['Cost of the call', 'call_cost', unit('unstated')],
    ['Stage of the lead', 'lead_stage', value => wordOf('lead_stage', value)],
    [
      'Value of the lead',
      'lead_value',
      value => `${count(value)} ${isKnown(row.lead_currency) ? row.lead_currency : ''}`,
    ],
    ['Known as of', 'as_of', value => timeText(String(value))],
  ]
  return facts.flatMap(([title, name, text]): [string, ComponentChildren][] =>
    isKnown(row[name]) ? [[title, text(row[name]!)]] : [],
  )
}

function TimeLine({ moments }: { moments: readonly Moment[] }) {
  if (moments.length === 0) return <Empty>Nothing was observed of it but its fields.</Empty>
  return (
    <ol class="timeline stack">
      {moments.map((moment, at) => {
        const day = dateText(moment.ms)
        const isNewDay = at === 0 || dateText(moments[at - 1]!.ms) !== day
        return (
          <Fragment key={moment.key}>
            {isNewDay && <li class="day">{day}</li>}
            <li class={`moment ${moment.kind} ${moment.sender ?? ''}`}>
              <time class="note" dateTime={new Date(moment.ms).toISOString()}>
                {moment.isTimed ? clockText(moment.ms) : ''}
              </time>
              {moment.kind === 'message' ? (
                <Message moment={moment} />
              ) : (
                <p class={SMALL[moment.kind]}>{moment.text}</p>
              )}
            </li>
          </Fragment>
        )
      })}
    </ol>
  )
}

const SMALL: Readonly<Record<string, string>> = { event: 'note', cost: 'note' }

/** Characters from which a text is folded. */
const LONG = 600

function Message({ moment: { sender, name, text } }: { moment: Moment }) {
  const [isOpen, setOpen] = useState(false)
  const isLong = text.length > LONG
  return (
    <div class="inset">
      <small>
        <b>
          {SENDERS[sender ?? ''] ?? 'Unknown role'}
          {name && ` (${name})`}
        </b>
      </small>
      <p class="text" dir="auto">
        {isLong && !isOpen ? `${text.slice(0, LONG)}…` : text}
      </p>
      {isLong && (
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${countText(text.length)} characters`}
        </button>
      )}
    </div>
  )
}

const SENDERS: Readonly<Record<string, string>> = { contact: 'Contact', agent: 'Agent', person: 'Person' }
