// What was said in a conversation so far: as turns, and as the model saw it. The record holds none of it but the counts, with
// which it agrees: as many turns as `messagesNum` tells, the last of a session with a person at its last message.
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
  /** Who of the staff wrote it. */
  userId?: string
}

interface ModelMessage {
  role: 'system' | 'user' | 'assistant'
  content: string | { type: 'text'; text: string }[]
}

/** What the model is given of a long conversation. */
const HISTORY_LENGTH = 12

/** `exchanges` of each session, with those that are yet to come. */
export function turnsOf(scene: Scene, exchanges: readonly Exchange[][]): Turn[] {
  return scene.sessions.flatMap((_, number) => sessionTurns(scene, number, exchanges[number]!))
}

/** The contact's message in that exchange of the session, both counted from 0. */
export function messageText(scene: Scene, session: number, exchange: number): string {
  return said(scene, session, exchange + 1)[exchange]!.question
}

export function modelMessages(turns: readonly Turn[]): ModelMessage[] {
  const told = turns.slice(-HISTORY_LENGTH).map(({ role, text }, place): ModelMessage => {
    if (role === 'user') return { role, content: text }
    return { role: 'assistant', content: place % 3 === 0 ? [{ type: 'text', text }] : text }
  })
  return [{ role: 'system', content: 'Answer in the language of the visitor.' }, ...told]
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
  const turn = (place: number, told: Omit<Turn, 'turnId' | 'sessionId' | 'type'>): Turn => ({
    turnId: `${sessionId}_${place}`,
    sessionId,
    type: 'text',
    ...told,
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

/** Once a person has taken over, they answer until the session ends. */
function answerer({ story }: Scene, session: number, atMs: number): Pick<Turn, 'role' | 'userId'> {
  const { acceptedMs = Number.POSITIVE_INFINITY, acceptedBy } = story?.courses[session]?.handoff ?? {}
  return acceptedMs < atMs ? { role: 'human_agent', userId: acceptedBy![0] } : { role: 'assistant' }
}
