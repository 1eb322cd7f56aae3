// Who waits for a person, as of the data: the longest wait first.
import { conversationAddress, filterParams, type Row, useConversations } from '../api/conversations.ts'
import type { ShowTile } from '../api/pages.ts'
import { clockText, timeText } from '../format/dates.ts'
import { countText, durationText } from '../format/values.ts'
import { Answered, Empty } from '../parts/states.tsx'
import { DataTable } from '../parts/table.tsx'
import { Tile } from '../parts/tile.tsx'
import { wordOf } from '../state/colours.ts'

const MOST = 100
const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S

const COLUMNS = [
  { key: 'waits', title: 'Waits for', isNumber: false },
  { key: 'agent', title: 'Agent', isNumber: false },
  { key: 'channel', title: 'Channel', isNumber: false },
  { key: 'team', title: 'Team asked for', isNumber: false },
  { key: 'since', title: 'Since', isNumber: false },
]

const agentOf = (row: Row) => String(row.agent_title ?? row.agent_id)

export function Waiting({ spec, id }: { spec: ShowTile; id: string }) {
  const answer = useConversations([
    ...filterParams(),
    ['isWaiting', 'true'],
    ['isCounted', 'true'],
    ['limit', String(MOST)],
  ])
  const asOf = answer.data?.asOf
  const rows = (answer.data?.conversations ?? []).map(row => ({
    row,
    since: String(row.waiting_since),
    seconds: Math.max(0, (Date.parse(asOf!) - Date.parse(String(row.waiting_since))) / 1_000),
  }))
  return (
    <Tile
      id={id}
      title={spec.title}
      subtitle={`Longest wait first${asOf ? ` · at ${clockText(Date.parse(asOf))} (as of the data)` : ''} · whatever the period is`}
      below={spec.below}
      width={spec.width}
      csv={() => [
        ['Waiting since', 'Seconds', 'Agent', 'Channel', 'Team asked for', 'Conversation'],
        ...rows.map(({ row, since, seconds }) => [
          ...[since, String(Math.round(seconds)), agentOf(row), String(row.channel)],
          ...[String(row.requested_team_key ?? ''), String(row.conversation_id)],
        ]),
      ]}
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
              <DataTable
                caption={spec.title}
                columns={COLUMNS}
                rows={rows.map(({ row, since, seconds }) => ({
                  key: `${row.workspace_id}/${row.agent_id}/${row.conversation_id}`,
                  cells: {
                    waits: <a href={conversationAddress(row)}>{durationText(seconds)}</a>,
                    agent: agentOf(row),
                    channel: wordOf('channel', row.channel),
                    team: row.requested_team_key ?? '–',
                    since: timeText(since),
                  },
                  values: {
                    waits: seconds,
                    agent: agentOf(row),
                    channel: String(row.channel),
                    team: row.requested_team_key as string | null,
                    since,
                  },
                }))}
                sort={`sort-${id}`}
              />
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
  return `${countText(rows.length)} ${rows.length === 1 ? 'contact waits' : 'contacts wait'}: ${known.join(', ')}.`
}
