/** What the page to log in says once, after something that leads to it. */
let text: string | undefined

export function putNotice(next: string): void {
  text = next
}

export function takeNotice(): string | undefined {
  const taken = text
  text = undefined
  return taken
}
