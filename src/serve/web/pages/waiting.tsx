// Who waits for a person, as of the data: the longest wait first.
import { counted } from '../../../core/words.ts'
import { conversationAddress, filterParams, type Row, useConversations } from '../api/conversations.ts'
import type { ShowTile } from '../api/pages.ts'
import { clockText, timeText } from '../format/dates.ts'
import { countText, durationText } from '../format/values.ts'
import { Answered, Empty } from '../parts/states.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { Tile } from '../parts/tile.tsx'
import { wordOf } from '../state/colours.ts'

const MOST = 100
const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S

interface Wait {
  row: Row
  since: string
  seconds: number
}

const COLUMNS: readonly Column<Wait>[] = [
  {
    key: 'waits',
    title: 'Waits for',
    value: ({ seconds }) => Math.round(seconds),
    cell: ({ row, seconds }) => <a href={conversationAddress(row)}>{durationText(seconds)}</a>,
  },
  { key: 'agent', title: 'Agent', value: ({ row }) => String(row.agent_title ?? row.agent_id) },
  { key: 'channel', title: 'Channel', value: ({ row }) => wordOf('channel', row.channel) },
  {
    key: 'team',
    title: 'Team asked for',
    value: ({ row }) => row.requested_team_key as string | null,
    cell: ({ row }) => row.requested_team_key ?? '–',
  },
  { key: 'since', title: 'Since', value: ({ since }) => since, cell: ({ since }) => timeText(since) },
  { key: 'conversation', title: 'Conversation', value: ({ row }) => String(row.conversation_id), cell: null },
]

export function Waiting({ spec, id }: { spec: ShowTile; id: string }) {
  const answer = useConversations([
    ...filterParams(),
    ['isWaiting', 'true'],
    ['isCounted', 'true'],
    ['limit', String(MOST)],
  ])
  const asOf = answer.data?.asOf
  const rows = (answer.data?.conversations ?? []).map(
    (row): Wait => ({
      row,
      since: String(row.waiting_since),
      seconds: Math.max(0, (Date.parse(asOf!) - Date.parse(String(row.waiting_since))) / 1_000),
    }),
  )
  return (
    <Tile
      id={id}
      {...spec}
      subtitle={`Longest wait first${asOf ? ` · at ${clockText(Date.parse(asOf))} (as of the data)` : ''} · whatever the period is`}
      table={{ columns: COLUMNS, rows }}
    >
      <Answered answer={answer} height={200}>
        {({ next }) =>
          rows.length === 0 ? (
            <Empty>
              <p>Nobody waits for a person.</p>
              <p class="note">A contact waits from the request of a handoff until somebody accepts it.</p>
            </Empty>
          ) : (
            <>
              <p>{summaryOf(rows, next !== null)}</p>
              <DataTable caption={spec.title} columns={COLUMNS} rows={rows} sort={`sort-${id}`} />
            </>
          )
        }
      </Answered>
    </Tile>
  )
}

/** Old requests that nobody ended would hide those of today. */
function summaryOf(rows: readonly { seconds: number }[], isCut: boolean): string {
  const within = (least: number, most: number) =>
    rows.filter(({ seconds }) => seconds >= least && seconds < most).length
  const parts: [number, string][] = [
    [within(0, HOUR_S), 'for less than an hour'],
    [within(HOUR_S, DAY_S), 'for an hour to a day'],
    [within(DAY_S, Infinity), 'for longer than a day'],
  ]
  const known = parts.filter(([n]) => n > 0).map(([n, text]) => `${countText(n)} ${text}`)
  if (isCut) return `More than ${countText(rows.length)} wait. These wait longest.`
  return `${counted(rows.length, 'contact waits', 'contacts wait')}: ${known.join(', ')}.`
}
