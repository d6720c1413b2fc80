// The version this agent reports and answers to.

/** Strict SemVer, without a leading `v`. */
export const agentVersion = "0.3.0"
