// A script of faults: which of its rules a request, or an event, meets, and how often each has been met.

/** By the number of what meets the rule, counted from 1 since the faults were set. */
export interface ScriptBounds {
  at?: number | undefined
  /** First and last such number, both inclusive. */
  from?: number | undefined
  to?: number | undefined
  /** Each whose number this divides. */
  every?: number | undefined
  /** At most so many times. */
  times?: number | undefined
}

export class Script<R extends ScriptBounds> {
  private readonly rules: readonly R[]
  private readonly met: number[]

  constructor(rules: readonly R[]) {
    this.rules = rules
    this.met = rules.map(() => 0)
  }

  /** The rules that fit the number, of those that are of use; each that is drawn from it counts as met. */
  *meet(number: number, useful: (rule: R) => boolean): Generator<R> {
    for (const [place, rule] of this.rules.entries()) {
      const { times = Number.POSITIVE_INFINITY } = rule
      if (this.met[place]! >= times || !useful(rule) || !fits(rule, number)) continue
      this.met[place]! += 1
      yield rule
    }
  }
}

function fits({ at, from = 1, to = Number.POSITIVE_INFINITY, every }: ScriptBounds, number: number): boolean {
  if (at !== undefined && at !== number) return false
  if (every !== undefined && number % every !== 0) return false
  return number >= from && number <= to
}
