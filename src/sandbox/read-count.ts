// Whole numbers in a query, such as `page` and `limit`.

/** The number as sent, `otherwise` where none is; undefined where it is none from 1 to `max`. */
export function readCount(
  params: URLSearchParams,
  name: string,
  { otherwise, max }: { otherwise: number; max: number },
): number | undefined {
  const sent = params.get(name)
  if (sent === null) return otherwise
  const count = /^\d{1,7}$/.test(sent) ? Number(sent) : 0
  return count >= 1 && count <= max ? count : undefined
}

/** Pages are counted from 1. */
export const MAX_PAGE = 1_000_000
