// The two commands that connect a machine.

/** Quoted for a POSIX shell unless every character is harmless. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/**
 * Registers `origin` as a target, then starts to report. Over https the agent is told to accept nothing less.
 */
export const installCommands = (origin: string, secret: string): readonly [string, string] => {
  const flag = origin.startsWith("https:") ? " --require-https" : ""
  return [
    `node dist/monitor-node.mjs report install ${origin}/api/node/metrics ${shellWord(secret)}${flag}`,
    "node dist/monitor-node.mjs push"
  ]
}
