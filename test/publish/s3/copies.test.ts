// Names of objects in S3, and the steps after a publication's commit: which copies are made, and which objects are removed.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../src/core/time.ts'
import {
  type Copies,
  completionPlan,
  copyName,
  folderOf,
  isComplete,
  isCopy,
  isEmptyFile,
  isObject,
  type Manifest,
  manifestText,
  NO_COPIES,
  objectPath,
  parseCopies,
  parseManifest,
} from '../../../src/publish/targets/parquet/manifest.ts'
import type { TargetWatermark } from '../../../src/publish/watermark.ts'

const watermarkAt = (n: number): TargetWatermark => ({
  ...{ owner: 'id/lake', epoch: 'e', seq: n, policy: 'p', publicationId: `0000000${n}-` },
  asOf: `2026-01-0${n}T00:00:00.000Z`,
})

const VERSIONS = [1, 2, 3].map(n => `2026010${n}T000000000Z-0000000${n}`)

describe('a name in S3', () => {
  const folders = ['agents', 'marts/dim_agents', 'conversations/month=2026-01', 'leads/agent=a%2Fb/month=2026-01']

  it.each(folders)('of an object below %s has a copy under a name that stays', folder => {
    const parts = [0, 1, 11, 'empty'] as const
    const paths = parts.map(part => objectPath({ folder, part }, VERSIONS[0]!))
    expect(paths.every(path => isObject(path) && !isCopy(path))).toBe(true)
    expect(paths.map(folderOf)).toEqual(parts.map(() => folder))
    expect(paths.map(isEmptyFile)).toEqual([false, false, false, true])
    const names = ['data', 'data-2', 'data-12', 'empty'].map(name => `${folder}/${name}.parquet`)
    expect(paths.map(copyName)).toEqual(names)
    expect(names.every(isCopy)).toBe(true)
  })

  it.each([
    ...['_manifest.json', '_copies.json', 'data.parquet', 'agents/mine.parquet', 'agents/data.csv', 'A/data.parquet'],
    ...['agents/year=2026/data.parquet', 'a/b/c/data.parquet', '_objects/agents/mine.parquet', '_x/data.parquet'],
  ])('belongs to nobody else: %s', name => {
    expect([isObject(name), isCopy(name)]).toEqual([false, false])
  })
})

describe('a manifest', () => {
  const files = [{ table: 'agents', path: objectPath({ folder: 'agents', part: 0 }, VERSIONS[0]!), bytes: 7 }]

  it('is read as it was written', () => {
    const manifest = { watermark: watermarkAt(1), erases: true, files }
    expect(parseManifest(manifestText(manifest), 's3://lake')).toEqual(manifest)
  })

  it('that is damaged, or that no publication wrote, is refused', () => {
    const whole = JSON.parse(manifestText({ watermark: watermarkAt(1), erases: false, files }))
    const damaged = [{ seq: 'x' }, { files: [{ table: 'agents', path: '../x' }] }, { format: 'other' }, { files: null }]
    const texts = damaged.map(change => JSON.stringify({ ...whole, ...change }))
    for (const text of ['', '{', 'null', '[]', '{"files": []}', ...texts])
      expect(() => parseManifest(text, 's3://lake')).toThrow('s3://lake/_manifest.json was not written')
  })
})

const NOW = Date.UTC(2026, 0, 3)

/** A bucket of some partitions, and the source of each copy. Runs publications as `parquet.ts` does, with a kill at any step. */
class Simulation {
  objects = new Map<string, number>()
  copies = new Map<string, string>()
  record: Copies = NO_COPIES
  manifest: Manifest | null = null
  /** States by publication, and the time when each was replaced. */
  earlier: { paths: string[]; replacedMs: number }[] = []
  nowMs = NOW

  listed() {
    const objects = [...this.objects].map(([name, modifiedMs]) => ({ name, etag: name, modifiedMs, bytes: 7 }))
    const copies = [...this.copies].map(([name, etag]) => ({ name, etag, modifiedMs: 0, bytes: 7 }))
    return [...objects, ...copies]
  }

  /** Completes the publication. `steps`: number of steps before the kill. */
  complete(hasCommitted: boolean, steps: number) {
    const { manifest, record: copies, nowMs } = this
    if (manifest === null) return
    const plan = completionPlan({ manifest, copies, listed: this.listed(), nowMs, hasCommitted })
    const work = [
      ...plan.copy.map(({ from, to }) => () => {
        if (!this.objects.has(from)) throw new Error(`${from} is missing`)
        this.copies.set(to, from)
      }),
      ...plan.remove.map(name => () => {
        this.objects.delete(name)
        this.copies.delete(name)
      }),
    ]
    for (const step of work.slice(0, steps)) step()
    if (steps < work.length) return
    const of = Object.fromEntries([...this.copies].map(([name, path]) => [name, [path, path] as const]))
    this.record = { publicationId: manifest.watermark.publicationId, of, kept: plan.kept }
  }

  open() {
    if (this.manifest && !isComplete(this.manifest, this.record, this.nowMs))
      this.complete(false, Number.POSITIVE_INFINITY)
  }

  publish(id: number, { folders, erases, steps }: { folders: readonly string[]; erases: boolean; steps: number }) {
    this.open()
    const version = `20260101T000000000Z-${String(id).padStart(8, '0')}`
    const before = this.manifest?.files ?? []
    const written = folders.map(folder => objectPath({ folder, part: 0 }, version))
    for (const path of written.slice(0, steps)) this.objects.set(path, this.nowMs)
    if (steps < written.length) return
    const files = [
      ...before.filter(({ path }) => !folders.includes(folderOf(path))),
      ...written.map(path => ({ table: 't', path, bytes: 7 })),
    ]
    if (this.manifest) this.earlier.push({ paths: before.map(({ path }) => path), replacedMs: this.nowMs })
    if (erases) this.earlier = []
    this.manifest = { watermark: { ...watermarkAt(1), publicationId: String(id) }, erases, files }
    this.complete(true, steps - written.length)
  }

  /** Expects that all objects of the current state exist, and those of each earlier state for an hour. */
  expectReadable() {
    const needed = [
      ...(this.manifest?.files ?? []).map(({ path }) => path),
      ...this.earlier.filter(({ replacedMs }) => replacedMs > this.nowMs - HOUR).flatMap(({ paths }) => paths),
    ]
    expect(needed.filter(path => !this.objects.has(path))).toEqual([])
  }

  /** Expects that after the next access the copies are those of the manifest, and that nothing is left that no reader needs. */
  expectTidy({ erased }: { erased: boolean }) {
    this.open()
    const { files } = this.manifest!
    expect(new Map([...this.copies].sort())).toEqual(
      new Map(files.map(({ path }) => [copyName(path), path] as const).sort()),
    )
    if (erased) expect([...this.objects.keys()].sort()).toEqual(files.map(({ path }) => path).sort())
  }
}

describe('publications that are killed at any step', () => {
  const folder = fc.constantFrom('t/month=2026-01', 't/month=2026-02', 'agents')
  const publication = fc.record({
    folders: fc.uniqueArray(folder, { minLength: 1 }),
    erases: fc.boolean(),
    steps: fc.oneof(fc.nat(8), fc.constant(Number.POSITIVE_INFINITY)),
    pauseMs: fc.constantFrom(60_000, HOUR / 2, 2 * HOUR),
  })

  it('leave every state readable for an hour, and the next one completes what they have begun', () => {
    fc.assert(
      fc.property(fc.array(publication, { minLength: 1, maxLength: 6 }), publications => {
        const simulation = new Simulation()
        for (const [index, { pauseMs, ...options }] of publications.entries()) {
          simulation.publish(index + 1, options)
          simulation.expectReadable()
          simulation.nowMs += pauseMs
        }
        const last = { folders: ['agents'], erases: true, steps: Number.POSITIVE_INFINITY }
        simulation.publish(99, last)
        simulation.expectTidy({ erased: true })
        simulation.nowMs += 2 * HOUR
        simulation.expectTidy({ erased: true })
      }),
    )
  })
})

describe('the copies', () => {
  const path = objectPath({ folder: 'agents', part: 0 }, VERSIONS[1]!)
  const manifest = { watermark: watermarkAt(2), erases: false, files: [{ table: 'agents', path, bytes: 7 }] }
  const copies: Copies = {
    publicationId: '00000002-',
    of: { 'agents/data.parquet': [path, 'e1'] },
    kept: [],
  }
  const listed = (etag: string, ...others: string[]) =>
    [path, ...others, 'agents/data.parquet', 'agents/mine.parquet', 'mine/data.csv'].map(name => ({
      name,
      etag,
      modifiedMs: NOW,
      bytes: 7,
    }))
  const plan = (etag: string, others: string[] = [], hasCommitted = true) =>
    completionPlan({ manifest, copies, listed: listed(etag, ...others), nowMs: NOW, hasCommitted })

  it('that a late request has overwritten, or made again, are corrected; what is not ours stays', () => {
    expect(plan('e1')).toEqual({ copy: [], remove: [], kept: [] })
    expect(plan('e0')).toEqual({ copy: [{ from: path, to: 'agents/data.parquet' }], remove: [], kept: [] })
    expect(plan('e1', ['leads/month=2026-01/data.parquet']).remove).toEqual(['leads/month=2026-01/data.parquet'])
  })

  it('of a publication that has not committed yet are left to it for an hour', () => {
    const other = objectPath({ folder: 'agents', part: 0 }, VERSIONS[2]!)
    expect(plan('e1', [other], false).remove).toEqual([])
    expect(plan('e1', [other], true).remove).toEqual([other])
    const late = listed('e1', other).map(object => ({ ...object, modifiedMs: NOW - 2 * HOUR }))
    const options = { manifest, copies, nowMs: NOW, hasCommitted: false }
    expect(completionPlan({ ...options, listed: late }).remove).toEqual([other])
  })

  it('with a damaged record are made again', () => {
    const members = '{"publication_id": "p", "of": {"a": 1}, "kept": []}'
    for (const text of ['', '{', 'null', '[]', '{"publication_id": 1}', members])
      expect(parseCopies(text)).toEqual(NO_COPIES)
    expect(
      completionPlan({ manifest, copies: NO_COPIES, listed: listed('e1'), nowMs: NOW, hasCommitted: true }).copy,
    ).toHaveLength(1)
  })
})
