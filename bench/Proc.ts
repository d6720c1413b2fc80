// Reads what Linux accounts to a process: CPU time and resident memory.
import { readFileSync } from "node:fs"

/** USER_HZ, the unit of /proc/PID/stat: 100 on every Linux that Node runs on. */
const tickMs = 10

/** User and system time of all threads so far, in milliseconds; steps of 10. */
export const cpuMs = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  // The second field is the program's name in brackets and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

/** Resident memory in MiB. */
export const rssMb = (pid: number): number => {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))
  return Number(found?.[1]) / 1024
}
