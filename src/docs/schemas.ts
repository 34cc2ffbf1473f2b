/** The schemas of the OpenAPI document: named, closed in requests and open in responses. */

type Json = { [key: string]: unknown }

/**
 * A response as clients must read it: open to fields and values that a later version adds. What is sent today is exact,
 * and the tests close these schemas again before checking a response against them.
 */
export function openSchema(node: unknown): Json {
  const { additionalProperties, enum: values, const: only, properties, items, anyOf, ...schema } = node as Json
  const known = (values ?? (typeof only === 'string' ? [only] : undefined)) as string[] | undefined
  return {
    ...schema,
    ...(known && {
      type: 'string',
      description: [
        schema.description,
        `Known: ${known.map((value) => `\`${value}\``).join(', ')}; others may be added.`,
      ]
        .filter(Boolean)
        .join('. '),
      examples: schema.examples ?? known.slice(0, 1),
      'x-extensible-enum': known,
    }),
    ...(only !== undefined && !known && { const: only }),
    ...(additionalProperties !== undefined && additionalProperties !== false && { additionalProperties }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Json).map(([name, child]) => [name, openSchema(child)]),
      ),
    }),
    ...(items !== undefined && { items: openSchema(items) }),
    ...(anyOf !== undefined && { anyOf: (anyOf as unknown[]).map(openSchema) }),
  }
}

/** Moves every titled schema into `components` and leaves a reference. */
export function extractTitled(node: unknown, schemas: Json): unknown {
  if (Array.isArray(node)) return node.map((item) => extractTitled(item, schemas))
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, extractTitled(value, schemas)]))
  if (typeof copy.title !== 'string' || copy.type !== 'object') return copy
  schemas[copy.title] = copy
  return { $ref: `#/components/schemas/${copy.title}` }
}
