/** Light or dark: as the system says, unless the user has chosen. */

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'ncp.theme'

export function theme(): Theme {
  const chosen = localStorage.getItem(KEY)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

export function applyTheme(): void {
  const chosen = theme()
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}

export function chooseTheme(chosen: Theme): void {
  if (chosen === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, chosen)
  applyTheme()
}
