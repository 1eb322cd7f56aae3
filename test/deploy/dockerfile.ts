// Parses the Dockerfile for the tests: stages of instructions.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

export interface Instruction {
  name: string
  /** The arguments of the instruction, on one line. */
  text: string
}

export interface Stage {
  image: string
  name: string | null
  instructions: Instruction[]
}

function instructionsIn(text: string): Instruction[] {
  const lines = text
    .split('\n')
    .filter(line => !line.trimStart().startsWith('#'))
    .join('\n')
    .replace(/\\\n\s*/g, ' ')
  return lines.split('\n').flatMap(line => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    return name === undefined ? [] : [{ name, text: rest!.trim() }]
  })
}

export function readStages(): Stage[] {
  const stages: Stage[] = []
  for (const instruction of instructionsIn(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))) {
    if (instruction.name === 'FROM') {
      const [image, , name = null] = instruction.text.split(/\s+/)
      stages.push({ image: image!, name, instructions: [] })
    } else stages.at(-1)!.instructions.push(instruction)
  }
  return stages
}

export interface Copy {
  from: string | null
  sources: string[]
  target: string
}

export const copiesOf = ({ instructions }: Stage): Copy[] =>
  instructions
    .filter(({ name }) => name === 'COPY')
    .map(({ text }) => {
      const words = text.split(/\s+/)
      const from = words[0]!.startsWith('--from=') ? words.shift()!.slice('--from='.length) : null
      return { from, target: words.pop()!, sources: words }
    })

/** Returns the words of the last instruction with that name, which must contain them as a JSON array. */
export function wordsOf({ instructions }: Stage, name: string): string[] {
  const { text } = instructions.findLast(instruction => instruction.name === name)!
  return JSON.parse(text.slice(text.indexOf('['))) as string[]
}

/** Returns the words of the command of `HEALTHCHECK`. */
export const healthCheckOf = (stage: Stage): string[] => wordsOf(stage, 'HEALTHCHECK')
