// Text of ours as words of a shell.

/** As one word of bash or zsh, whatever is in it. */
export const shellWord = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** As one word of fish, in which a backslash escapes within single quotes. */
export const fishWord = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
