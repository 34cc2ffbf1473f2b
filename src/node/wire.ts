/** Between the names of this program and those of its JSON: `phpVersion` is `php_version` on the wire, at every depth. */

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''

export type OnWire<Value> = Value extends readonly (infer Item)[]
  ? OnWire<Item>[]
  : Value extends object
    ? { [Name in keyof Value as Name extends string ? Snake<Name> : never]: OnWire<Value[Name]> }
    : Value

/** Every name is one that the program knows: no record has names that someone else has chosen. */
export const toWire = <Value>(value: Value): OnWire<Value> => renamed(value, snakeOf) as OnWire<Value>

/** @returns the same with other names; nothing is checked */
export const fromWire = (value: unknown): unknown => renamed(value, camelOf)

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [rename(name), renamed(inner, rename)]))
}

const snakeOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const camelOf = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
