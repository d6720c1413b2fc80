// Turns a checked report into the vector of its layout: numbers only, in place, without allocation per series.
import type { Interface, NodeReport, Physical } from "../../schema/Report.ts"
import {
  Fs,
  fsSize,
  Heat,
  heatSize,
  Host,
  Io,
  ioSize,
  type Layout,
  Nic,
  nicSize,
  Volume,
  volumeSize
} from "./Layout.ts"
import { counted } from "./NetTotals.ts"

type Maybe = number | null | undefined
/** Missing scalars count as 0 (contract). */
const num = (value: Maybe): number => value ?? 0
/** Where absence must stay visible: NaN. */
const orNaN = (value: Maybe): number => value ?? Number.NaN
/** Temperatures and their limits at or below zero count as absent (contract). */
const heat = (value: Maybe): number => (value !== undefined && value !== null && value > 0 ? value : Number.NaN)

const countedOf = new WeakMap<ReadonlyArray<string>, ReadonlyArray<boolean>>()
const countedIn = (names: ReadonlyArray<string>): ReadonlyArray<boolean> => {
  let flags = countedOf.get(names)
  if (flags === undefined) countedOf.set(names, (flags = counted(names)))
  return flags
}

const fillHost = (out: Float64Array, { metrics }: NodeReport): void => {
  const { connections, cpu, memory, processes, system } = metrics
  const times = cpu?.times
  out[Host.cpuUsage] = num(cpu?.usage_ratio)
  out[Host.load1] = num(cpu?.load1)
  out[Host.load5] = num(cpu?.load5)
  out[Host.load15] = num(cpu?.load15)
  out[Host.cpuUser] = num(times?.user)
  out[Host.cpuSystem] = num(times?.system)
  out[Host.cpuIdle] = num(times?.idle)
  out[Host.cpuIowait] = num(times?.iowait)
  out[Host.cpuSteal] = num(times?.steal)
  out[Host.memUsed] = num(memory?.used)
  out[Host.memAvailable] = num(memory?.available)
  out[Host.memBuffers] = num(memory?.buffers)
  out[Host.memCached] = num(memory?.cached)
  out[Host.memUsedRatio] = num(memory?.used_ratio)
  out[Host.swapUsed] = num(memory?.swap_used)
  out[Host.swapFree] = num(memory?.swap_free)
  out[Host.swapUsedRatio] = num(memory?.swap_used_ratio)
  out[Host.memTotal] = orNaN(memory?.total)
  out[Host.swapTotal] = orNaN(memory?.swap_total)
  out[Host.uptimeSec] = num(system.uptime_seconds)
  out[Host.alive] = system.alive === true ? 1 : 0
  out[Host.processes] = num(processes?.process_count)
  out[Host.tcp] = num(connections?.tcp_count)
  out[Host.udp] = num(connections?.udp_count)
}

const fillPressure = (out: Float64Array, { metrics: { pressure } }: NodeReport): void => {
  let at: number = Host.pressure
  const resources = [pressure?.cpu, pressure?.memory, pressure?.io]
  for (const resource of resources) {
    for (const stall of [resource?.some, resource?.full]) {
      out[at] = orNaN(stall?.avg10)
      out[at + 1] = orNaN(stall?.avg60)
      out[at + 2] = orNaN(stall?.avg300)
      out[at + 3] = orNaN(stall?.total)
      at += 4
    }
  }
}

const fillNic = (out: Float64Array, at: number, nic: Interface): void => {
  out[at + Nic.recv] = num(nic.bytes_recv)
  out[at + Nic.sent] = num(nic.bytes_sent)
  out[at + Nic.recvRate] = num(nic.recv_rate_bytes_per_sec)
  out[at + Nic.sentRate] = num(nic.sent_rate_bytes_per_sec)
  out[at + Nic.packetsRecv] = num(nic.packets_recv)
  out[at + Nic.packetsSent] = num(nic.packets_sent)
  out[at + Nic.packetsRecvRate] = num(nic.recv_rate_packets_per_sec)
  out[at + Nic.packetsSentRate] = num(nic.sent_rate_packets_per_sec)
  out[at + Nic.errIn] = num(nic.err_in)
  out[at + Nic.errOut] = num(nic.err_out)
  out[at + Nic.dropIn] = num(nic.drop_in)
  out[at + Nic.dropOut] = num(nic.drop_out)
}

const fillNetwork = (out: Float64Array, layout: Layout, { metrics: { network } }: NodeReport): void => {
  const flags = countedIn(layout.nics)
  let recv = 0
  let sent = 0
  let recvRate = 0
  let sentRate = 0
  for (let i = 0; i < network.length; i++) {
    const at = layout.nicsAt + i * nicSize
    fillNic(out, at, network[i] as Interface)
    if (flags[i] !== true) continue
    recv += out[at + Nic.recv] as number
    sent += out[at + Nic.sent] as number
    recvRate += out[at + Nic.recvRate] as number
    sentRate += out[at + Nic.sentRate] as number
  }
  out[Host.netRecv] = recv
  out[Host.netSent] = sent
  out[Host.netRecvRate] = recvRate
  out[Host.netSentRate] = sentRate
}

type IoSource = Pick<
  Physical,
  | "read_bytes"
  | "write_bytes"
  | "read_rate_bytes_per_sec"
  | "write_rate_bytes_per_sec"
  | "iops"
  | "read_iops"
  | "write_iops"
  | "util_ratio"
  | "queue_length"
  | "wait_ms"
  | "service_ms"
>
const fillIo = (out: Float64Array, at: number, device: IoSource): void => {
  out[at + Io.readBytes] = num(device.read_bytes)
  out[at + Io.writeBytes] = num(device.write_bytes)
  out[at + Io.readRate] = num(device.read_rate_bytes_per_sec)
  out[at + Io.writeRate] = num(device.write_rate_bytes_per_sec)
  out[at + Io.readIops] = num(device.read_iops)
  out[at + Io.writeIops] = num(device.write_iops)
  // The contract falls back to the sum when the total is missing.
  out[at + Io.iops] = device.iops ?? num(device.read_iops) + num(device.write_iops)
  out[at + Io.util] = num(device.util_ratio)
  out[at + Io.queue] = num(device.queue_length)
  out[at + Io.waitMs] = num(device.wait_ms)
  out[at + Io.serviceMs] = num(device.service_ms)
}

const fillDisks = (out: Float64Array, layout: Layout, { metrics: { disk } }: NodeReport): void => {
  let at = layout.physicalAt
  for (const device of disk.physical) {
    fillIo(out, at, device)
    at += ioSize
  }
  for (const volume of disk.logical) {
    out[at + Volume.used] = num(volume.used)
    out[at + Volume.free] = num(volume.free)
    out[at + Volume.usedRatio] = num(volume.used_ratio)
    out[at + Volume.total] = orNaN(volume.total)
    at += volumeSize
  }
  for (const fs of disk.filesystems) {
    out[at + Fs.used] = num(fs.used)
    out[at + Fs.free] = num(fs.free)
    out[at + Fs.usedRatio] = num(fs.used_ratio)
    out[at + Fs.total] = orNaN(fs.total)
    out[at + Fs.inodesUsed] = num(fs.inodes_used)
    out[at + Fs.inodesFree] = num(fs.inodes_free)
    out[at + Fs.inodesRatio] = num(fs.inodes_used_ratio)
    at += fsSize
  }
  for (const device of disk.base_io) {
    fillIo(out, at, device)
    at += ioSize
  }
}

const fillSensors = (out: Float64Array, layout: Layout, { metrics: { thermal } }: NodeReport): void => {
  let hottest = Number.NaN
  let at = layout.sensorsAt
  for (const sensor of thermal?.sensors ?? []) {
    const temp = heat(sensor.temp_c)
    out[at + Heat.temp] = temp
    out[at + Heat.high] = heat(sensor.high_c)
    out[at + Heat.critical] = heat(sensor.critical_c)
    at += heatSize
    if (sensor.kind.trim().toLowerCase() === "cpu" && !(temp <= hottest) && !Number.isNaN(temp)) hottest = temp
  }
  out[Host.cpuTemp] = hottest
  const updatedAt = thermal?.updated_at
  out[Host.thermalAt] = updatedAt === undefined || updatedAt === null ? Number.NaN : Date.parse(updatedAt)
}

/** Fills `out[0..layout.size)` from a report that `fits` the layout. */
export const flatten = (out: Float64Array, layout: Layout, report: NodeReport): void => {
  out[Host.reportedAt] = Date.parse(report.timestamp)
  fillHost(out, report)
  fillPressure(out, report)
  fillNetwork(out, layout, report)
  fillDisks(out, layout, report)
  fillSensors(out, layout, report)
}
