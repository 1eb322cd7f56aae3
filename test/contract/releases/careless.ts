// The same change as in `patched.ts`, made as it must not be made: workflows in flight cannot go on under it.
import { sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow'

export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        await sleep(1)
        return next(input)
      },
    },
  ],
})
