// Skips tests whose tools could not be installed on this machine, and reports the reason. In CI such tests fail.
import { inject, TestRunner } from 'vitest'
import { folderOf, type Tool } from './installed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Reasons why tools are missing, by folder. */
    lacking: Record<string, string>
  }
}

export const whyLacking = ({ folder }: Tool): string | null => inject('lacking')[folder] ?? null

/** Returns the folder of the tool. Skips the current test if it is missing. */
export function needed(tool: Tool): string {
  const reason = whyLacking(tool)
  if (reason !== null) TestRunner.getCurrentTest()!.context.skip(`${tool.about} cannot be installed: ${reason}`)
  return folderOf(tool)
}
