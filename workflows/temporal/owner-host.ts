// The host that the owner is to the orchestration: within a workflow, time and chance are the workflow's own.
import { CancellationScope, condition, sleep, uuid4, workflowInfo } from '@temporalio/workflow'
import type { Host } from '../host.ts'
import { heard } from '../progress.ts'
import { cancelled, givesWay, type Owner, show } from './owner.ts'

/** For all syncs of that owner. */
export const hostOf = (owner: Owner): Host => ({
  now: () => Date.now(),
  newId: () => `wf-${uuid4().slice(0, 13)}`,
  cancelled: () => cancelled(owner),
  tell(news) {
    if (news.kind === 'governor') owner.governor = news.governor
    show(owner, heard(owner.progress, news))
  },
  async sleepUntil(untilMs, wake) {
    const scope = new CancellationScope()
    const slept = scope.run(() => sleep(Math.max(1, untilMs - Date.now())))
    slept.catch(() => {})
    try {
      await Promise.race([slept, wake, owner.nudged.promise])
    } finally {
      scope.cancel()
    }
  },
  resumed: () => condition(() => !owner.progress.paused || cancelled(owner)),
  givesWay: () => givesWay(owner),
  raised: () => owner.allowed.splice(0),
  handsOver: () => workflowInfo().continueAsNewSuggested,
})
