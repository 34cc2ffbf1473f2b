/** Topics of emails: of each topic only the newest email waits, and it can be withdrawn by the topic. */

export const activationTopic = (userId: number) => `activation:${userId}`
export const resetTopic = (userId: number) => `password-reset:${userId}`
export const emailChangeTopic = (userId: number) => `email-change:${userId}`
