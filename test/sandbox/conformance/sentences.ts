// The form of the conformance tables: a section of the API document, its sentences in their order, and a check of each. Bullets,
// table rows and numbered rules count as sentences.
import { expect } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Readings } from '../../../src/sandbox/readings.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { addressOf, BODIES } from '../endpoints/documented.ts'
import { type Answered, ask } from '../endpoints/writer.ts'

/** Opens a sandbox in the mode under test. */
export type Open = (options?: Partial<SandboxOptions>) => Promise<Sandbox>

export type Check = (open: Open) => Promise<void>

/** Our own short wording; the check, or the reason why nothing can be tested; further modes of this sentence alone. */
export type Sentence = readonly [
  says: string,
  check: Check | { untestable: string },
  readings?: readonly Partial<Readings>[],
]

export interface Section {
  /** Modes in which every sentence is tested, beside the defaults and `--literal`. */
  readings?: readonly Partial<Readings>[]
  sentences: readonly Sentence[]
}

/** The number of sentences of each section of the document. */
export const OUTLINE = {
  '4': 2,
  '4.1': 4,
  '4.2': 3,
  '4.3': 4,
  '4.4': 2,
  '4.5': 5,
  '4.6': 7,
  '4.7': 3,
  '4.8': 8,
  '4.9': 11,
  '4.10': 2,
  '4.11': 2,
  '4.12': 16,
  '4.13': 4,
  '4.14': 4,
  '4.15': 4,
  '4.16': 3,
  '5': 4,
  '7': 8,
  '8': 14,
} as const

export type Sections = Record<keyof typeof OUTLINE, Section>

export const SAYS_NOTHING = { untestable: 'the document says that it is not shown' }

/** Every value of a reading but the default. */
export const each = <Name extends keyof Readings>(name: Name, values: readonly Readings[Name][]): Partial<Readings>[] =>
  values.map(value => ({ [name]: value }))

/** The endpoint is served at its address. */
export const isServed =
  (endpoint: string): Check =>
  async open => {
    const [method, path] = endpoint.split(' ') as [string, string]
    const sandbox = await open()
    const { status } = await ask(sandbox, method, await addressOf(sandbox, path), BODIES[endpoint])
    expect(status).toBe(200)
  }

export const envelopeOf = (code: unknown = expect.any(String)) => ({
  message: expect.any(String),
  code,
  issues: expect.arrayContaining([{ message: expect.any(String) }]),
})

/** An answer with an error of that status. */
export function expectRefused({ status, body }: Answered<unknown>, expected: number): void {
  expect([status, body]).toEqual([expected, envelopeOf()])
}
