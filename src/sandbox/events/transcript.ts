// A conversation's transcript so far, as turns and as model messages. It agrees with the record: there are `messagesNum` turns, and if a
// person wrote in a session, the session's last turn has the time of its last message.
import { type Locale, prose, sentence } from '../world/conversation/locales.ts'
import type { Scene } from '../world/conversation/scene.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import type { Exchange } from '../world/story.ts'

export interface Turn {
  turnId: string
  sessionId: string
  role: 'assistant' | 'user' | 'human_agent'
  type: 'text'
  text: string
  /** Milliseconds. */
  timestamp: number
  /** The staff member who wrote it. */
  userId?: string
}

interface ModelMessage {
  role: 'system' | 'user' | 'assistant'
  content: string | { type: 'text'; text: string }[]
}

/** Of a long conversation, the model sees this many of the newest turns. */
const HISTORY_LENGTH = 12

/** The turns so far. `exchanges` has an entry for each session, including future sessions. */
export function turnsOf(scene: Scene, exchanges: readonly Exchange[][]): Turn[] {
  return scene.sessions.flatMap((_, number) => sessionTurns(scene, number, exchanges[number]!))
}

/** The contact's message in that session and exchange, both from 0. */
export function messageText(scene: Scene, session: number, exchange: number): string {
  return said(scene, session, exchange + 1)[exchange]!.question
}

export function modelMessages(turns: readonly Turn[]): ModelMessage[] {
  const recent = turns.slice(-HISTORY_LENGTH).map(({ role, text }, place): ModelMessage => {
    if (role === 'user') return { role, content: text }
    return { role: 'assistant', content: place % 3 === 0 ? [{ type: 'text', text }] : text }
  })
  return [{ role: 'system', content: 'Answer in the language of the visitor.' }, ...recent]
}

interface Said {
  question: string
  answer: string
}

const transcriptDraw = ({ seed, index }: Scene, session: number) => new Draw(seed, index, PURPOSE.transcript + session)

function said(scene: Scene, session: number, count: number): Said[] {
  const draw = transcriptDraw(scene, session)
  return Array.from({ length: count }, () => ({
    question: sentence(draw, scene.locale),
    answer: answerText(draw, scene.locale),
  }))
}

const answerText = (draw: Draw, locale: Locale): string => prose(draw, locale, draw.logarithmic(40, 260))

function sessionTurns(scene: Scene, number: number, exchanges: readonly Exchange[]): Turn[] {
  const { id: sessionId, startMs, userMessages } = scene.sessions[number]!
  const turn = (place: number, fields: Omit<Turn, 'turnId' | 'sessionId' | 'type'>): Turn => ({
    turnId: `${sessionId}_${place}`,
    sessionId,
    type: 'text',
    ...fields,
  })
  const greeting = turn(0, { role: 'assistant', text: scene.locale.sentences[0]!, timestamp: startMs })
  const talked = said(scene, number, userMessages).flatMap(({ question, answer }, place) => {
    const { askedMs, answeredMs } = exchanges[place]!
    return [
      turn(2 * place + 1, { role: 'user', text: question, timestamp: askedMs }),
      turn(2 * place + 2, { ...answerer(scene, number, answeredMs), text: answer, timestamp: answeredMs }),
    ]
  })
  return [greeting, ...talked]
}

/** Who answers: the agent or, after a handoff and until the session ends, the person. */
function answerer({ story }: Scene, session: number, atMs: number): Pick<Turn, 'role' | 'userId'> {
  const { acceptedMs = Number.POSITIVE_INFINITY, acceptedBy } = story?.courses[session]?.handoff ?? {}
  return acceptedMs < atMs ? { role: 'human_agent', userId: acceptedBy![0] } : { role: 'assistant' }
}
