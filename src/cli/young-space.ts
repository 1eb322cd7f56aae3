// Size of V8's young generation. A parsed page is thousands of objects that all live until the page is inspected, so V8 doubles the
// semi-space, up to 16 MB (32 from Node 24). With its initial 1 MB, a sync needs 70 to 150 MB less memory and no more CPU time. V8 reads
// the growth factor each time before it grows the space, so it can be changed at run time.
import { setFlagsFromString } from 'node:v8'

/** Restores V8's default factor, for a command with many short-lived objects. */
export function letYoungSpaceGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}

/** Stops further growth in this process. */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
