// One spelling in the warehouse for what the vendor spells in several ways (notes on the API, "Shapes").

/** SQL: `web-chat` and `webchat` are one channel; any other is as it was sent. */
export const oneSpelling = (channel: string): string =>
  `CASE lower(${channel}) WHEN 'web-chat' THEN 'webchat' WHEN 'webchat' THEN 'webchat' ELSE ${channel} END`

/** SQL: the same, of the texts inside a JSON value. */
export const oneSpellingInside = (json: string): string =>
  `regexp_replace(${json}::VARCHAR, '(?i)"web-?chat"', '"webchat"', 'g')::JSON`
