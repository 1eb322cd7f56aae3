// One spelling in the warehouse for what the vendor spells in several ways (notes on the API, "Shapes").

/** SQL: `web-chat` and `webchat` are one channel. */
export const oneSpelling = (channel: string): string =>
  `CASE lower(${channel}) WHEN 'web-chat' THEN 'webchat' ELSE lower(${channel}) END`
