// The host that the owner is to the orchestration: within a workflow, time and chance are the workflow's own.
import { CancellationScope, condition, sleep, uuid4, workflowInfo } from '@temporalio/workflow'
import type { Host } from '../host.ts'
import { applyUpdate } from '../progress.ts'
import { cancelled, type Owner, publishProgress, shouldYield } from './owner.ts'

/** For all syncs of that owner. */
export const workflowHost = (owner: Owner): Host => ({
  now: () => Date.now(),
  newId: () => `wf-${uuid4().slice(0, 13)}`,
  cancelled: () => cancelled(owner),
  notify(news) {
    if (news.kind === 'governor') owner.governor = news.governor
    publishProgress(owner, applyUpdate(owner.progress, news))
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
  untilResumed: () => condition(() => !owner.progress.paused || cancelled(owner)),
  shouldYield: () => shouldYield(owner),
  takeAllowances: () => owner.allowed.splice(0),
  shouldHandOver: () => workflowInfo().continueAsNewSuggested,
})
