// Sets the colour mode before the first paint; the app takes over afterwards.
;(function () {
  var match = /(?:^|; )theme=(light|dark|system)/.exec(document.cookie)
  var mode = match ? match[1] : "system"
  var dark = mode === "dark" || (mode === "system" && matchMedia("(prefers-color-scheme: dark)").matches)
  document.documentElement.setAttribute("data-theme", dark ? "dark" : "light")
})()
