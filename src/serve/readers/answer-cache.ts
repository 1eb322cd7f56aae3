// Answers of declared queries, by a key that contains the state of the data. Concurrent requests for one key share one query.

export class AnswerCache<T> {
  /** The most recently used last. */
  readonly #answers = new Map<string, { answer: Promise<T>; bytes: number }>()
  #bytes = 0
  readonly maxBytes = 64 * 2 ** 20

  /** Returns the answer for the key; asks if there is none. A failure is not kept. Callers must not change the answer. */
  get(key: string, ask: () => Promise<{ answer: T; bytes: number }>): Promise<T> {
    const found = this.#answers.get(key)
    if (found) {
      this.#answers.delete(key)
      this.#answers.set(key, found)
      return found.answer
    }
    const asked = ask()
    const entry = { answer: asked.then(({ answer }) => answer), bytes: 2 * key.length }
    this.#answers.set(key, entry)
    this.#bytes += entry.bytes
    asked.then(
      ({ bytes }) => {
        if (this.#answers.get(key) !== entry) return
        entry.bytes += bytes
        this.#bytes += bytes
        for (const [oldest] of this.#answers) if (this.#bytes > this.maxBytes) this.#remove(oldest)
      },
      () => this.#remove(key),
    )
    return entry.answer
  }

  #remove(key: string): void {
    this.#bytes -= this.#answers.get(key)?.bytes ?? 0
    this.#answers.delete(key)
  }
}
