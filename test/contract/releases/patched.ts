// A later release of the workflows: they wait a moment before each activity, which is a command that no history of before has. It is
// versioned, as every such change has to be.
import { patched, sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow'

export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        if (patched('wait-before-activities')) await sleep(1)
        return next(input)
      },
    },
  ],
})
