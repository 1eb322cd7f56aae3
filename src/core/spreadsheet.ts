// Texts in files that spreadsheets open: contacts may write what a spreadsheet would run as a formula.

/** Matches texts that a spreadsheet takes for a formula, but for negative numbers. It may ignore white space and invisible characters. */
const FORMULA = /^(?!-\d+(\.\d+)?$)(?:[\t\r]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u

/** Matches the same after `;`, where Excel begins a new cell in many languages, even within quotes. */
const FORMULA_AFTER_SEPARATOR = /;(?=[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/gu

/** Returns a text that no spreadsheet runs: an apostrophe marks each formula as text. */
export const withoutFormula = (text: string): string =>
  (FORMULA.test(text) ? `'${text}` : text).replace(FORMULA_AFTER_SEPARATOR, ";'")
