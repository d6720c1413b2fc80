// Notifications in Chinese.
import type { Words } from "./MessagesEnglish.ts"
import { spanOf } from "./MessageText.ts"

const units = { d: "天", h: "小时", m: "分", s: "秒" } as const

export const chinese: Words = {
  opened: "告警触发",
  recovered: "告警恢复",
  closed: "告警关闭",
  offline: "服务器离线",
  online: "服务器恢复在线",
  colon: "：",
  state: "状态",
  server: "服务器",
  rule: "规则",
  metric: "指标",
  value: "当前值",
  threshold: "阈值",
  duration: "持续时间",
  triggeredAt: "触发时间",
  recoveredAt: "恢复时间",
  closedAt: "关闭时间",
  lastReportAt: "最后上报",
  outage: "失联时长",
  reason: "原因",
  reasons: {
    condition_cleared: "条件不再满足",
    snapshot_stale: "服务器停止上报",
    rule_unmounted: "规则不再应用于该服务器",
    rule_updated: "规则已修改",
    rule_disabled: "规则已停用",
    rule_deleted: "规则已删除",
    rule_invalid: "规则无效",
    server_deleted: "服务器已删除"
  },
  span: (spanMs) =>
    spanOf(spanMs)
      .map(([count, unit]) => `${count}${units[unit]}`)
      .join(""),
  nodesOffline: (count) => `${count} 台服务器离线`,
  nodesOnline: (count) => `${count} 台服务器恢复在线`,
  more: (count) => `另有 ${count} 台`
}
