/** The OpenAPI document as YAML that every parser reads the same way. */
import type { AnyElysia } from 'elysia'

/**
 * Loads the generator only on demand, so that startup need not wait for it.
 *
 * @param routes the described routes; they are not called
 */
export async function openApiYaml(routes: AnyElysia): Promise<string> {
  const { openApiDocument } = await import('./openapi.ts')
  return quoteTimes(Bun.YAML.stringify(await openApiDocument(routes), null, 2))
}

/** YAML 1.1, which many programs still read, turns bare times into dates; the document's examples are strings. */
function quoteTimes(yaml: string): string {
  return yaml.replaceAll(/(?<=^ *(?:- |[\w-]+: )+)\d{4}-\d\d-\d\d\S*$/gm, '"$&"')
}
