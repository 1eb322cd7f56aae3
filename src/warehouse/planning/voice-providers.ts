// What is stored about the answers of voice providers.
import type { Writer } from '../connection.ts'

interface StoredProvider {
  successMs: number | null
  failureMs: number | null
  error: string | null
}

export async function storedProviders(
  { rows }: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<Map<string, StoredProvider>> {
  const stored = await rows<StoredProvider & { provider: string }>(
    `SELECT provider, epoch_ms(last_success_at)::DOUBLE AS "successMs", epoch_ms(last_failure_at)::DOUBLE AS "failureMs",
       last_error AS error FROM voice_providers WHERE workspace_id = $workspace`,
    { workspace: workspaceId },
  )
  return new Map(stored.map(({ provider, ...answered }) => [provider, answered]))
}
