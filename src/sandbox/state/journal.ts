// The file in which writes of callers outlive a restart: a line of JSON about the world, then one for each write.
import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { ConvohouseError } from '../../core/errors.ts'

/** What the ids and times of the generated world depend on. */
export interface WorldFacts {
  seed: number
  workspaceId: string
  startMs: number
}

const FILE = 'changes.jsonl'

export class Journal<T> {
  private readonly file: string
  /** The world in which the file was begun: this one if the file is new. */
  readonly world: WorldFacts
  /** The writes that the file held when it was opened, in order. */
  readonly read: readonly T[]

  /**
   * Opens the folder, which is created if it is missing. A last line that a killed process left incomplete is cut off.
   * @throws ConvohouseError CONFIG_INVALID if the file cannot be used, or belongs to another world.
   */
  constructor(folder: string, world: WorldFacts) {
    this.file = join(folder, FILE)
    try {
      mkdirSync(folder, { recursive: true })
      const [first, ...others] = readLines(this.file)
      if (first === undefined) this.write(world)
      this.world = (first as WorldFacts | undefined) ?? world
      this.read = others as T[]
    } catch (cause) {
      throw unusable(this.file, (cause as Error).message)
    }
    const { seed, workspaceId } = this.world
    if (seed === world.seed && workspaceId === world.workspaceId) return
    throw unusable(this.file, `they belong to the seed ${seed} and the workspace ${workspaceId}`)
  }

  append(change: T): void {
    this.write(change)
  }

  private write(line: unknown): void {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`)
  }
}

function readLines(file: string): unknown[] {
  if (!existsSync(file)) return []
  const bytes = readFileSync(file)
  const end = bytes.lastIndexOf('\n') + 1
  if (end < bytes.length) truncateSync(file, end)
  const lines = bytes.subarray(0, end).toString().split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line))
}

const unusable = (file: string, reason: string) =>
  new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox's data in ${file} cannot be used: ${reason}`,
    hint: 'Give the same --seed and --workspace-id as before, another --data, or delete the file to forget all writes.',
    facts: { option: 'data' },
  })
