/** Returns a copy with one flipped bit. */
export function flipped(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}
