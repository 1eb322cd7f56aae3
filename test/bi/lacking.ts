// Tools that could not be installed on this machine: tests that need one are skipped, and the report says why. In CI they fail.
import { inject, TestRunner } from 'vitest'
import { folderOf, type Tool } from './installed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Why a tool is missing, by its folder. */
    lacking: Record<string, string>
  }
}

export const whyLacking = ({ folder }: Tool): string | null => inject('lacking')[folder] ?? null

/** Returns the folder of the tool. Without it, the current test is skipped. */
export function needed(tool: Tool): string {
  const reason = whyLacking(tool)
  if (reason !== null) TestRunner.getCurrentTest()!.context.skip(`${tool.about} cannot be installed: ${reason}`)
  return folderOf(tool)
}
