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
  const stored = await rows<Record<'provider' | 'success' | 'failure' | 'error', string | null>>(
    `SELECT provider, epoch_ms(last_success_at)::VARCHAR AS success, epoch_ms(last_failure_at)::VARCHAR AS failure,
       last_error AS error FROM voice_providers WHERE workspace_id = $workspace`,
    { workspace: workspaceId },
  )
  const ms = (text: string | null) => (text === null ? null : Number(text))
  return new Map(
    stored.map(({ provider, success, failure, error }) => [
      provider!,
      { successMs: ms(success), failureMs: ms(failure), error },
    ]),
  )
}
