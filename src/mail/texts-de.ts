/** The emails in German. */
import type { Format, Texts } from './texts.ts'

type Key = { name: string; prefix: string }

const named = ({ name, prefix }: Key, { quote }: Format) => `\nName: ${quote(name)}\nBeginnt mit: ${prefix}`
const expiring = (key: Key & { expiresAt: number | null }, format: Format) =>
  `${named(key, format)}\n${key.expiresAt === null ? 'Gültigkeit: unbegrenzt' : `Gültig bis: ${format.time(key.expiresAt)}`}`
const oldSecret = (until: number | null, { time }: Format) =>
  until === null
    ? '\nDer bisherige Schlüssel ist ab sofort ungültig.'
    : `\nDer bisherige Schlüssel gilt noch bis ${time(until)}.`

export const german: Texts = {
  activation: ({ email, link }) => ({
    subject: 'Ihr neues Konto',
    paragraphs: [
      `Für Sie wurde ein Konto angelegt: ${email}. Wählen Sie hier Ihr Passwort. Der Link gilt 24 Stunden und kann nur einmal verwendet werden:`,
      link,
      'Wer den Link kennt, kann das Passwort festlegen. Geben Sie ihn daher nicht weiter. Ist die Frist abgelaufen, fordern Sie ein neues Passwort an.',
    ],
  }),
  passwordReset: ({ email, link }) => ({
    subject: 'Neues Passwort festlegen',
    paragraphs: [
      `Für das Konto ${email} wurde ein neues Passwort angefordert. Legen Sie es hier fest. Der Link gilt zehn Minuten und kann nur einmal verwendet werden:`,
      link,
      'Wer den Link kennt, kann Ihr Passwort festlegen. Geben Sie ihn daher nicht weiter. Die Zwei-Faktor-Authentifizierung bleibt unverändert.',
      'Falls Sie das nicht angefordert haben, müssen Sie nichts tun: Ihr Passwort bleibt, wie es ist.',
    ],
  }),
  emailChange: ({ oldEmail, newEmail, link }) => ({
    subject: 'Neue E-Mail-Adresse bestätigen',
    paragraphs: [
      `Das Konto ${oldEmail} soll auf diese Adresse umgestellt werden: ${newEmail}. Bestätigen Sie das hier. Der Link gilt zehn Minuten und kann nur einmal verwendet werden:`,
      link,
      'Falls Sie davon nichts wissen, müssen Sie nichts tun: Ohne diesen Link ändert sich nichts.',
    ],
  }),
  facts: ({ email, time }) => `Konto: ${email}\nZeitpunkt: ${time}`,
  advice: {
    user: 'Wenn Sie das waren, müssen Sie nichts tun. Andernfalls ändern Sie Ihr Passwort oder fordern Sie ein neues an, und informieren Sie den Betreiber.',
    administrator:
      'Das hat ein Administrator des Panels veranlasst. Falls Sie nicht damit gerechnet haben, fragen Sie beim Betreiber nach.',
    operator:
      'Das hat der Betreiber des Panels veranlasst. Falls Sie nicht damit gerechnet haben, fragen Sie beim Betreiber nach.',
  },
  notices: {
    password_set: () => ({
      subject: 'Ihr Passwort wurde geändert',
      event: 'Für Ihr Konto wurde ein neues Passwort festgelegt.',
    }),
    two_factor_enabled: () => ({
      subject: 'Zwei-Faktor-Authentifizierung eingeschaltet',
      event: 'Für Ihr Konto wurde die Zwei-Faktor-Authentifizierung eingeschaltet.',
    }),
    two_factor_disabled: () => ({
      subject: 'Zwei-Faktor-Authentifizierung ausgeschaltet',
      event: 'Für Ihr Konto wurde die Zwei-Faktor-Authentifizierung ausgeschaltet.',
    }),
    two_factor_reset: (_, __, author) => ({
      subject: 'Zwei-Faktor-Authentifizierung ausgeschaltet',
      event: `${author === 'operator' ? 'Der Betreiber' : 'Ein Administrator'} hat die Zwei-Faktor-Authentifizierung für Ihr Konto ausgeschaltet.`,
    }),
    recovery_codes_renewed: () => ({
      subject: 'Ihre Wiederherstellungscodes wurden ersetzt',
      event: 'Für Ihr Konto wurden neue Wiederherstellungscodes erzeugt. Die bisherigen sind ungültig.',
    }),
    recovery_code_used: ({ left }) => ({
      subject: 'Ein Wiederherstellungscode wurde verwendet',
      event: `Anstelle eines Codes aus Ihrer Authenticator-App wurde ein Wiederherstellungscode verwendet. Verbleibende Wiederherstellungscodes: ${left}.`,
    }),
    email_change_requested: ({ email }) => ({
      subject: 'Änderung Ihrer E-Mail-Adresse angefordert',
      event: `Jemand, der Ihr Passwort kennt, möchte Ihr Konto auf die Adresse ${email} umstellen.`,
    }),
    email_changed: ({ email }) => ({
      subject: 'Ihre E-Mail-Adresse wurde geändert',
      event: `Ihr Konto wurde auf die Adresse ${email} umgestellt. Dies ist die letzte E-Mail an die bisherige Adresse.`,
    }),
    api_key_created: (key, format) => ({
      subject: 'Neuer API-Schlüssel',
      event: `Für Ihr Konto wurde ein API-Schlüssel erstellt.${expiring(key, format)}${
        key.renewableUntil === null ? '' : `\nKann sich selbst erneuern bis: ${format.time(key.renewableUntil)}`
      }`,
    }),
    api_key_rotated: (key, format) => ({
      subject: 'Ein API-Schlüssel wurde erneuert',
      event: `Ein API-Schlüssel Ihres Kontos wurde durch einen neuen ersetzt.${named(key, format)}${oldSecret(key.previousValidUntil, format)}`,
    }),
    api_key_rotated_itself: (key, format) => ({
      subject: 'Ein API-Schlüssel hat sich selbst erneuert',
      event: `Ein API-Schlüssel Ihres Kontos hat sich von der Adresse ${key.address} aus selbst erneuert und seine Gültigkeit verlängert.${expiring(key, format)}${oldSecret(key.previousValidUntil, format)}`,
      advice: `Wenn das ein Skript von Ihnen war, müssen Sie nichts tun. Andernfalls löschen Sie den Schlüssel: Wer ihn besitzt, kann ihn bis ${format.time(key.renewableUntil)} gültig halten.`,
    }),
    api_key_expiry_changed: (key, format) => ({
      subject: 'Gültigkeit eines API-Schlüssels geändert',
      event: `Die Gültigkeit eines API-Schlüssels Ihres Kontos wurde geändert.${expiring(key, format)}`,
    }),
    api_key_expires: (key, format) => ({
      subject: 'Ein API-Schlüssel läuft bald ab',
      event: `Ein API-Schlüssel Ihres Kontos läuft bald ab. Anwendungen, die ihn verwenden, funktionieren dann nicht mehr.${expiring(key, format)}`,
      advice:
        'Falls Sie ihn weiterhin brauchen, verlängern Sie seine Gültigkeit oder ersetzen Sie ihn durch einen neuen.',
    }),
    api_key_deleted: (key, format) => ({
      subject: 'Ein API-Schlüssel wurde gelöscht',
      event: `Ein API-Schlüssel Ihres Kontos wurde gelöscht. Anwendungen, die ihn verwenden, funktionieren nicht mehr.${named(key, format)}`,
    }),
    account_unlocked: () => ({
      subject: 'Ihr Konto wurde entsperrt',
      event:
        'Die fehlgeschlagenen Anmeldeversuche für Ihr Konto wurden zurückgesetzt. Sie können sich wieder von überall aus anmelden.',
    }),
    subscription_deleted: ({ name, sites, apiKeys }, { quote }) => ({
      subject: 'Ein Abonnement wurde gelöscht',
      event: `Eines Ihrer Abonnements wurde gelöscht.\nName: ${quote(name)}\nDamit gelöschte Websites: ${sites}\nDamit gelöschte API-Schlüssel: ${apiKeys}`,
    }),
    new_address: ({ address }) => ({
      subject: 'Anmeldung von einer neuen Adresse',
      event: `Jemand hat sich von der Adresse ${address} aus mit Ihrem Konto angemeldet. Diese Adresse wurde in den letzten 30 Tagen nicht verwendet.`,
    }),
    login_attempts_slowed: () => ({
      subject: 'Viele fehlgeschlagene Anmeldeversuche',
      event: [
        'Für Ihr Konto wurden so oft falsche Passwörter oder Codes eingegeben, dass Tippfehler unwahrscheinlich sind.',
        'Von unbekannten Adressen aus sind jetzt nur noch einzelne Versuche möglich, mit Wartezeiten von bis zu neun Stunden.',
        'Ihre Sitzungen und API-Schlüssel funktionieren weiterhin, ebenso die Anmeldung von Adressen, die Sie in den letzten 30 Tagen verwendet haben.',
      ].join(' '),
      advice: [
        'Um sich von einer anderen Adresse aus anzumelden, fordern Sie ein neues Passwort an: Dort, wo Sie es festlegen, können Sie sich anschließend auch anmelden.',
        'Falls die Versuche nicht von Ihnen stammen und Sie Ihr Passwort auch anderswo verwenden, wählen Sie ein neues.',
      ].join(' '),
    }),
    many_changes: () => ({
      subject: 'Sehr viele Änderungen an Ihrem Konto',
      event:
        'An Ihrem Konto wurde so viel geändert, dass Sie vorerst nicht über jede Änderung eine E-Mail erhalten. Das Protokoll Ihres Kontos führt alle auf.',
      advice:
        'Falls die Änderungen nicht von Ihnen stammen, beenden Sie Ihre Sitzungen, löschen Sie unbekannte API-Schlüssel, wählen Sie ein neues Passwort und informieren Sie den Betreiber.',
    }),
    session_attempts_slowed: () => ({
      subject: 'Viele falsche Passwörter in einer Sitzung',
      event:
        'Jemand, der mit Ihrem Konto angemeldet ist, hat so oft falsche Passwörter oder Codes eingegeben, dass Tippfehler unwahrscheinlich sind. In dieser Sitzung sind jetzt nur noch einzelne Versuche möglich, mit Wartezeiten dazwischen.',
      advice:
        'Wenn Sie das waren, melden Sie sich erneut an. Andernfalls beenden Sie diese Sitzung in der Liste Ihrer Sitzungen, wählen Sie ein neues Passwort und informieren Sie den Betreiber.',
    }),
  },
}
