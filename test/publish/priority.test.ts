// The priority of a target's process, read from the kernel while it is alive.
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { expect, it } from 'vitest'
import { MINUTE } from '../../src/core/time.ts'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { newTarget, publishTo } from './published.ts'

const app = temporaryWarehouse()

const threadsOf = (pid: string): string[] => readdirSync(`/proc/${pid}/task`)

function targetProcess(): string {
  const children = threadsOf('self').flatMap(thread =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' '),
  )
  const [found] = children.filter(
    pid => pid !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('target-process'),
  )
  return found!
}

const prioritiesOf = (pid: string): number[] => [...new Set(threadsOf(pid).map(thread => getPriority(Number(thread))))]

it.runIf(process.platform === 'linux')(
  'is lowered for all threads by a delta, not by a refill, and this process keeps its own',
  async () => {
    const place = app.workspace()
    const target = newTarget(app.home)
    const own = getPriority()
    const published = async (minute: number) => {
      await place.load(
        await landConversations(place.landing, {
          records: [{ ID: 'a', tags: [`${minute}`] }],
          sentAtMs: SENT_AT_MS + minute * MINUTE,
        }),
      )
      let priorities: number[] = []
      const { kind } = await publishTo(app, target, {
        verify: true,
        // The target's process has applied the package, and waits for its next message.
        onPhase: phase => {
          if (phase === 'verifying') priorities = prioritiesOf(targetProcess())
        },
      })
      return { kind, priorities }
    }
    expect(await published(1)).toEqual({ kind: 'refill', priorities: [own] })
    expect(await published(2)).toEqual({ kind: 'delta', priorities: [Math.max(own, 10)] })
    expect(prioritiesOf('self')).toEqual([own])
  },
)
