// Rendered records, the latest used kept, bounded by their bytes.

export class RecordCache {
  private readonly maxBytes: number
  /** In order of use: a Map tells its keys in the order in which they were set. */
  private readonly records = new Map<number, Buffer>()
  private bytes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** The record of that state, rendered where it is not kept. */
  get(stateKey: number, render: () => string): Buffer {
    const kept = this.records.get(stateKey)
    if (kept === undefined) return this.keep(stateKey, Buffer.from(render()))
    this.records.delete(stateKey)
    this.records.set(stateKey, kept)
    return kept
  }

  private keep(stateKey: number, record: Buffer): Buffer {
    if (record.length > this.maxBytes) return record
    this.records.set(stateKey, record)
    this.bytes += record.length
    for (const [oldest, { length }] of this.records) {
      if (this.bytes <= this.maxBytes) break
      this.records.delete(oldest)
      this.bytes -= length
    }
    return record
  }
}
