/** Domain names as people write them. */
import { decode } from 'punycode/'

/**
 * Shows a label in its own script where it cannot be taken for another name: letters of one script alone, and none of the
 * alphabets in which whole words look like Latin ones.
 */
const UNMISTAKABLE = [
  /^[\p{Script=Latin}\d-]+$/u,
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\d-]+$/u,
  /^[\p{Script=Hangul}\d-]+$/u,
]

/** @param domain in punycode, as the API writes it */
export function displayDomain(domain: string): string {
  return domain.split('.').map(displayLabel).join('.')
}

function displayLabel(label: string): string {
  if (!label.startsWith('xn--')) return label
  try {
    const decoded = decode(label.slice('xn--'.length))
    return UNMISTAKABLE.some((script) => script.test(decoded)) ? decoded : label
  } catch {
    return label
  }
}
