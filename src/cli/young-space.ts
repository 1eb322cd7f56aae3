// V8's space for young objects, kept as small as it begins. A landed page is parsed into thousands of objects that are all alive until it
// has been looked at, so V8 takes the space for too small and doubles it, up to 16 MB (32 from Node 24) three times over. Kept at 1 MB
// a sync takes 70 to 150 MB less, and no more of the processor. V8 reads the factor whenever the space is to grow.
import { setFlagsFromString } from 'node:v8'

/** For a command that is busy with much that lives briefly: V8's own factor, from now on. */
export function letYoungSpaceGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}

/** From now on, in this process. What it has grown to by then stays. */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
