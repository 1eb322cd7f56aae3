// Settings of `serve`: its address, the names under which it is reached, and the snapshot that it reads.
import { join } from 'node:path'
import { z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'
import { pii } from './target-settings.ts'
import type { SnapshotTarget } from './targets/snapshot.ts'
import type { TargetConfig } from './targets.ts'
import { address } from './values.ts'

/** Name of the target that `serve` reads if none is named. */
const OWN = 'serve'

export const serveSettings = z
  .strictObject({
    address: address.prefault('127.0.0.1:8790'),
    hosts: z
      .array(z.string().regex(/^[\w.-]+$/, 'must be a name such as figures.example.com, without a port'))
      .default([]),
    basePath: z
      .string()
      .regex(/^(\/[\w.~-]+)+$/, 'must be a path such as /convohouse')
      .optional(),
    snapshot: z.string().optional(),
    pii: pii.optional(),
  })
  .refine(({ snapshot, pii }) => !(snapshot && pii), {
    path: ['pii'],
    error: 'belongs to the target that `snapshot` names: set it there',
  })

export type ServeConfig = ReturnType<typeof serveConfig>

/** @throws CONFIG_INVALID if `snapshot` names no target `snapshot`, or if another target has the name of our own */
export function serveConfig(
  given: z.infer<typeof serveSettings> | undefined,
  { home, targets, source }: { home: string; targets: readonly TargetConfig[]; source: string },
) {
  const { snapshot, pii: policy, hosts, basePath = '', ...rest } = given ?? serveSettings.parse({})
  const named = targets.find(({ name }) => name === (snapshot ?? OWN))
  if (snapshot === undefined ? given && named : named?.type !== 'snapshot')
    throw new ConvohouseError('CONFIG_INVALID', {
      what: `${source}: ${snapshot === undefined ? `a target has the name ${OWN}` : `serve.snapshot names no target of type snapshot`}.`,
      hint:
        snapshot === undefined
          ? `Set \`serve: { snapshot: ${OWN} }\`, or rename the target.`
          : 'Name one, or remove it.',
    })
  const path = join(home, 'serve', 'snapshot.duckdb')
  const own: SnapshotTarget = { name: OWN, type: 'snapshot', path, pii: policy ?? pii.parse({}), rows: null }
  return {
    ...rest,
    basePath,
    hosts: hosts.map(host => host.toLowerCase()),
    /** True if the configuration has `serve`: `up` then serves. */
    isConfigured: given !== undefined,
    target: snapshot === undefined ? own : (named as SnapshotTarget),
    /** True if the target is not among those of the configuration: `serve` keeps it. */
    isOwn: snapshot === undefined,
  }
}
