// The list of conversations: those of the page's filters, or those behind a value; with a search in transcripts.
import { useEffect } from 'preact/hooks'
import { counted } from '../../../core/words.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import { conversationAddress, filterParams, type Listed, type Row, useConversations } from '../api/conversations.ts'
import { type MetricsQuestion, useListedMetrics, useMetrics, usePeriodDays } from '../api/metrics.ts'
import { following } from '../api/resource.ts'
import { bucketText, dayRange, timeText } from '../format/dates.ts'
import { countText, durationText, valueText } from '../format/values.ts'
import { Outcome } from '../parts/outcome.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { useValues, wordOf } from '../state/colours.ts'
import { filtersFor } from '../state/filters.ts'
import { addressOf, go, here, query } from '../state/location.ts'
import { period } from '../state/period.ts'
import { Conversation } from './conversation.tsx'

const MOST = 50

/** The page of the list, or of one conversation if the address names one. */
export const Conversations = ({ rest }: { rest: string }) => (rest === '' ? <List /> : <Conversation key={rest} />)

/** Returns the question in the address; null if there is none, or if it is none. */
function askedBehind(): MetricsQuestion | null {
  try {
    return JSON.parse(query.value.get('behind') ?? 'null')
  } catch {
    return null
  }
}

function List() {
  const given = (name: string) => query.value.get(name)
  const [behind, words, after] = [given('behind'), given('words'), given('after')]
  const withTests = given('tests') === 'yes'
  const { filters } = filtersFor([useListedMetrics().data?.get('conversations')])
  const whole = usePeriodDays(behind ? null : period.value, filters)
  const days = whole.data
  const asked: [string, string][] = [['limit', String(MOST)]]
  if (behind) asked.push(['behind', behind])
  else if (days) asked.push(...filterParams(), ['from', days.from], ['to', days.to])
  if (!behind && !withTests) asked.push(['isCounted', 'true'])
  if (words) asked.push(['words', words])
  if (after) asked.push(['after', after])
  const answer = following(whole, useConversations(behind || days ? asked : null))
  useEffect(() => scrollTo(0, 0), [after])
  return (
    <div class="conversations stack">
      {behind && answer.data && !answer.problem && <BehindLine asked={askedBehind()} />}
      <div class="row">
        <Search whyNot={answer.data?.whyNoTexts ?? null} words={words ?? ''} />
        {!behind && (
          <label class="row">
            <input
              type="checkbox"
              checked={withTests}
              onChange={() => go(here({ tests: withTests ? null : 'yes', after: null }), { replace: true })}
            />
            Also tests and those not exported yet
          </label>
        )}
      </div>
      <Answered answer={answer} height={640}>
        {found =>
          found.conversations.length === 0 ? (
            <Nothing behind={behind !== null} words={words} />
          ) : (
            <Found {...found} isFirst={after === null} />
          )
        }
      </Answered>
    </div>
  )
}

function Found({ conversations, next, isFirst }: Listed & { isFirst: boolean }) {
  return (
    <>
      <DataTable caption="Conversations, newest first" columns={COLUMNS} rows={conversations} sort={null} />
      <nav class="row between" aria-label="Pages of the list">
        <span class="note">
          {counted(conversations.length, `${!isFirst ? 'older ' : next ? 'newest ' : ''}conversation`)}
        </span>
        {!isFirst && <a href={here({ after: null })}>Newest</a>}
        {next && <a href={here({ after: next })}>Next page</a>}
      </nav>
    </>
  )
}

function Nothing({ behind, words }: { behind: boolean; words: string | null }) {
  if (words)
    return (
      <Empty>
        <p>No transcript here has these words: “{words}”.</p>
        <p class="note">Whole words are found, in any order. Only webhooks bring transcripts.</p>
      </Empty>
    )
  if (behind) return <Empty>No conversations are behind this value.</Empty>
  return (
    <Empty>
      <p>No conversations in this period with these filters.</p>
      <p class="note">Choose a longer period, or clear a filter. Pipeline shows what was exported.</p>
    </Empty>
  )
}

function Search({ whyNot, words }: { whyNot: string | null; words: string }) {
  const search = (event: Event) => {
    event.preventDefault()
    const entered = new FormData(event.currentTarget as HTMLFormElement).get('words')
    go(here({ words: String(entered ?? '').trim() || null, after: null }))
  }
  return (
    <form class="search row" role="search" onSubmit={search}>
      <input
        type="search"
        name="words"
        key={words}
        defaultValue={words}
        disabled={whyNot !== null}
        placeholder="Words of the transcript"
        aria-label="Search in transcripts"
        aria-describedby={whyNot === null ? undefined : 'why-no-search'}
      />
      <button type="submit" disabled={whyNot !== null}>
        Search
      </button>
      {words && <a href={here({ words: null, after: null })}>Clear the search</a>}
      {whyNot !== null && (
        <span class="note" id="why-no-search">
          Transcripts cannot be searched. {whyNot.replaceAll('`', '')}
        </span>
      )}
    </form>
  )
}

/** Says in words which value the list is behind. */
function BehindLine({ asked }: { asked: MetricsQuestion | null }) {
  const metric = useListedMetrics().data?.get(asked?.metrics?.[0] ?? '')
  const agents = useValues('agent')
  const { bucket: _, limit: _limit, ...whole } = asked ?? ({} as MetricsQuestion)
  const answer = useMetrics(metric ? { ...whole, grain: 'none' } : null).data?.[0]
  if (!asked || !metric) return null
  const nameOf = (dimension: DimensionName, value: string | null) =>
    (dimension === 'agent' && agents.find(({ key }) => key === value)?.label) || wordOf(dimension, value)
  const { bucket, grain = 'none' } = asked
  const isTime = bucket !== undefined && ['hour', 'day', 'week', 'month'].includes(grain)
  const parts = [
    bucket !== undefined && `${grain === 'week' ? 'week of ' : ''}${bucketText(bucket, grain)}`,
    answer && !isTime && dayRange(answer.period),
    ...Object.entries(asked.filters ?? {}).map(([dimension, values]) =>
      (values ?? []).map(value => nameOf(dimension as DimensionName, value)).join(' or '),
    ),
  ].filter(Boolean)
  return (
    <section aria-label="What is shown">
      <p>
        Conversations behind <b>{metric.title}</b>
        {parts.map(part => `, ${part}`)}. <a href={addressOf('conversations')}>Show all conversations</a>
      </p>
      <p class="note">{metric.definition}</p>
    </section>
  )
}

const number = (key: string, title: string, text: (value: number) => string, about?: string): Column<Row> => ({
  ...{ key, title, about, isNumber: true },
  value: row => row[key] as number | null,
  cell: row => (row[key] == null ? '–' : text(row[key] as number)),
})

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'started_at',
    title: 'Start',
    about: 'First message, in your time zone',
    value: row => row.started_at as string | null,
    cell: row => (
      <>
        <a href={conversationAddress(row)}>{row.started_at ? timeText(String(row.started_at)) : '–'}</a>
        {row.is_test && <span class="badge note">test</span>}
        {!row.is_complete && <span class="badge note">not exported yet</span>}
      </>
    ),
  },
  {
    key: 'outcome',
    title: 'Outcome',
    value: row => String(row.outcome),
    cell: row => <Outcome value={String(row.outcome)} />,
  },
  { key: 'agent', title: 'Agent', value: row => String(row.agent_title ?? row.agent_id) },
  { key: 'channel', title: 'Channel', value: row => wordOf('channel', row.channel) },
  { key: 'state', title: 'State', about: 'As the vendor reports it', value: row => wordOf('state', row.state) },
  number('messages', 'Messages', countText),
  number('duration_seconds', 'Duration', durationText, 'From the start to the last message, pauses included'),
  number('handoffs', 'Handoffs', countText),
  number('tokens_usd', 'Cost of tokens', value => valueText(value, 'usd'), 'US dollars'),
  number(
    'csat_score',
    'Satisfaction',
    value => valueText(value, 'score'),
    'On the vendor’s scale, which it does not state',
  ),
]
