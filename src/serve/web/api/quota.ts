// The quota of the running billing period.
import type { WorkspaceQuota } from '../../http/quota-route.ts'
import { getJson } from './client.ts'
import { useAnswer } from './resource.ts'

export type { WorkspaceQuota }

export const useQuota = () =>
  useAnswer('quota', async () => (await getJson<{ workspaces: WorkspaceQuota[] }>('v1/quota')).workspaces)
