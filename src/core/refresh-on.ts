// Which changes of a conversation that is held have it bought again.

/**
 * `change`: each that is known of. `message`: those after which something was written that the copy cannot know of, and those
 * that no event told; what else events told (a resolution, a rating, a note) is in the row already.
 */
export const REFRESH_ON = ['change', 'message'] as const

export type RefreshOn = (typeof REFRESH_ON)[number]
