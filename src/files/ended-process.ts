// Whether a process of this machine has ended, for what it left in files.
import { hasCode } from '../core/disk.ts'

/** True if no process has this id. */
export function hasEnded(pid: number): boolean {
  try {
    return !process.kill(pid, 0)
  } catch (error) {
    return hasCode(error, 'ESRCH')
  }
}
