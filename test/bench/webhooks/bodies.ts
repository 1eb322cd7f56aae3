// Bodies of `conversation_updated`, 8 KB each, as the vendor may send them.
import { Draw } from '../../../src/sandbox/world/random.ts'

export const SECRET = 'whsec_0123456789abcdef0123456789abcdef'

const WORDS =
  'the order that was placed on Tuesday can still be changed as long as it has not left the warehouse für Größe'.split(
    ' ',
  )

/** Returns the first `count` bodies; every call returns the same ones. */
export function eventBodies(count: number): Buffer[] {
  const draw = new Draw(1, 0, 0)
  const text = (words: number) =>
    Array.from({ length: words }, () => WORDS[Math.floor(draw.unit() * WORDS.length)]).join(' ')
  const id = () => Math.floor(draw.unit() * 2 ** 52).toString(16)
  const body = (index: number) => ({
    event: 'conversation_updated',
    createdAt: 1_763_700_000_000 + index,
    workspaceSecret: SECRET,
    agentId: id(),
    agentName: 'Support',
    convoId: id(),
    sessionId: id(),
    channel: 'whatsapp',
    region: 'eu',
    operation: 'updated',
    lightConvoData: {
      ID: id(),
      userID: id(),
      userName: 'Jörg Müller',
      state: 'ai-chatting',
      stage: 'lead',
      tags: ['returns', 'vip'],
      tokenUsage: { total: 1_234, input: 1_000, output: 234 },
      csat: { ease10: 9, comment: text(9) },
      lastModified: 1_763_700_000_000 + index,
      isResolved: false,
    },
    turns: Array.from({ length: 22 }, (_, turn) => ({
      id: id(),
      role: turn % 2 === 0 ? 'user' : 'assistant',
      createdAt: 1_763_700_000_000 + turn * 7_000,
      messageType: 'text',
      message: text(46),
    })),
  })
  return Array.from({ length: count }, (_, index) => Buffer.from(JSON.stringify(body(index))))
}
