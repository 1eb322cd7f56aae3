// Which changes of a stored conversation cause a refresh.

/**
 * `change`: every known change. `message`: changes that may include a message missing from the copy, and changes without an event. Other
 * events (a resolution, a rating, a note) are applied to the row already.
 */
export const REFRESH_ON = ['change', 'message'] as const

export type RefreshOn = (typeof REFRESH_ON)[number]
