/** Topics of mails: of each, one waits, the newest, and whoever makes it void withdraws it by the same name. */

export const activationTopic = (userId: number) => `activation:${userId}`
export const resetTopic = (userId: number) => `password-reset:${userId}`
export const emailChangeTopic = (userId: number) => `email-change:${userId}`
