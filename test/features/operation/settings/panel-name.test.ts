/** What the panel is called, and the language and time zone of its emails. */
import { describe, expect, test } from 'bun:test'
import { type MailingPanel, startMailingPanel, useMailingPanel } from '../../../harness/mailing-panel.ts'
import { PASSWORD, startPanel } from '../../../harness/panel.ts'

const NEW_PASSWORD = 'an altogether different one'

const panel = await useMailingPanel()

type Named = { panel_name: string | null; language: string; time_zone: string }
const set = async (body: object) => panel.patch<Named>('/admin/settings', await panel.admin(), body)

/** The notice of a password that was changed. */
async function passwordEmail() {
  const ada = await panel.customer()
  await panel.post('/auth/password', ada.token, { current_password: PASSWORD, new_password: NEW_PASSWORD })
  return (await panel.emailsTo(ada.email)).at(-1)
}
async function issuerOf(target: Pick<MailingPanel, 'customer' | 'post'>): Promise<string | null> {
  const ada = await target.customer()
  const { data } = await target.post<{ otpauth_uri: string }>('/auth/2fa/setup', ada.token, { password: PASSWORD })
  return new URL(data.otpauth_uri).searchParams.get('issuer')
}

describe('the name of the panel', () => {
  test('is the host of its public URL, in the sender, the subject and the signature, and in authenticator apps', async () => {
    expect((await panel.get<Named>('/admin/settings', await panel.admin())).data.panel_name).toBeNull()
    const mail = await passwordEmail()
    expect(mail?.parsed.from).toEqual({ name: 'panel.example.com', address: 'ncp@example.com' })
    expect(mail?.parsed.subject).toBe('panel.example.com: Your password was set')
    expect(mail?.text).toEndWith('\n-- \npanel.example.com, https://panel.example.com\n')
    expect(await issuerOf(panel)).toBe('panel.example.com')
  })

  test('is ncp where there is no public URL', async () => {
    const own = await startPanel()
    try {
      expect(await issuerOf(own)).toBe('ncp')
    } finally {
      await own.stop()
    }
  })

  test('is what an administrator sets, and null resets it', async () => {
    expect((await set({ panel_name: 'Müller: Hosting' })).data.panel_name).toBe('Müller: Hosting')
    const mail = await passwordEmail()
    expect(mail?.parsed.from?.name).toBe('Müller: Hosting')
    expect(mail?.parsed.subject).toBe('Müller: Hosting: Your password was set')
    expect(await issuerOf(panel)).toBe('Müller  Hosting')
    expect((await set({ panel_name: null })).data.panel_name).toBeNull()
    expect((await passwordEmail())?.parsed.from?.name).toBe('panel.example.com')
  })

  test('gives way to a sender’s name in the configuration', async () => {
    const own = await startMailingPanel({ mailFrom: 'Example Hosting <post@example.com>' })
    try {
      const ada = await own.customer()
      await own.post('/auth/password', ada.token, { current_password: PASSWORD, new_password: NEW_PASSWORD })
      const mail = (await own.emailsTo(ada.email)).at(-1)
      expect(mail?.parsed.from).toEqual({ name: 'Example Hosting', address: 'post@example.com' })
    } finally {
      await own.stop()
    }
  })

  test.each([
    [{ panel_name: '' }, 422],
    [{ panel_name: 'x'.repeat(101) }, 422],
    [{ panel_name: 'a\r\nBcc: evil@example.org' }, 422],
    [{ panel_name: 17 }, 400],
    [{ language: 'fr' }, 422],
    [{ language: null }, 400],
    [{ time_zone: 'Mars/Olympus' }, 422],
    [{ time_zone: '+01:00' }, 422],
  ])('%j is refused and stores nothing', async (body, status) => {
    const before = (await panel.get('/admin/settings', await panel.admin())).data
    const answer = await set(body)
    expect([answer.status, answer.message.split(':')[0]]).toEqual([status, Object.keys(body)[0] ?? ''])
    expect((await panel.get('/admin/settings', await panel.admin())).data).toEqual(before)
  })

  test('is set only by administrators', async () => {
    const ada = await panel.customer()
    expect((await panel.patch('/admin/settings', ada.token, { panel_name: 'Mine' })).status).toBe(403)
    expect((await panel.send('PATCH', '/admin/settings', { body: { language: 'de' } })).status).toBe(401)
  })
})

describe('the language', () => {
  test('applies to every email from then on, with times in the configured time zone', async () => {
    expect((await set({ language: 'de', time_zone: 'Europe/Berlin' })).status).toBe(200)
    const mail = await passwordEmail()
    expect(mail?.subject).toBe('Ihr Passwort wurde geändert')
    expect(mail?.text).toMatch(/^Zeitpunkt: \d+\. \S+ \d{4} um \d\d:\d\d (MEZ|MESZ)$/m)

    const ada = await panel.customer()
    await panel.post('/auth/password-reset', undefined, { email: ada.email })
    const reset = (await panel.emailsTo(ada.email)).at(-1)
    expect(reset?.subject).toBe('Neues Passwort festlegen')
    const token = /#token=([\w-]{43})$/m.exec(reset?.text ?? '')?.[1]
    const body = { token, password: NEW_PASSWORD }
    expect((await panel.post('/auth/password-reset/confirm', undefined, body)).status).toBe(200)

    const invited = { email: 'neu@example.com', name: 'Neu', role: 'customer' }
    await panel.post('/admin/users', await panel.admin(), invited)
    expect((await panel.subjectsTo('neu@example.com')).at(-1)).toBe('Ihr neues Konto')
    expect((await set({ language: 'en', time_zone: 'UTC' })).status).toBe(200)
    expect((await passwordEmail())?.subject).toBe('Your password was set')
  })
})
