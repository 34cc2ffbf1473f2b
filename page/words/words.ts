/** The words of the page in the reader's language. */
import type { Words } from './en.ts'

export type Language = 'en' | 'de'

const KEY = 'ncp.language'

/** In their own language. */
export const LANGUAGES: Record<Language, string> = { en: 'English', de: 'Deutsch' }

function preferred(): Language {
  const chosen = localStorage.getItem(KEY)
  if (chosen === 'en' || chosen === 'de') return chosen
  return navigator.languages.find((tag) => /^(en|de)\b/.test(tag))?.startsWith('de') ? 'de' : 'en'
}

export const language = preferred()

/** For `Intl`: the reader's own region, if it speaks the language of the page. */
export const locale = navigator.languages.find((tag) => tag.startsWith(language)) ?? language

/** Set before anything is shown. */
export let words: Words

export async function loadWords(): Promise<void> {
  words = language === 'de' ? (await import('./de.ts')).german : (await import('./en.ts')).english
  document.documentElement.lang = language
}

export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(KEY, chosen)
  location.reload()
}
