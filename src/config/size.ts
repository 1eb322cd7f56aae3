// Settings that are sizes.
import { z } from 'zod'

export const size = z.string().regex(/^\d+(\.\d+)?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/i, 'must be a size such as 1GB')
