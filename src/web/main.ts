// Starts the app: states first, so that the first paint has the right language, then the page.
import "./styles/base.css"
import "./styles/tokens.css"
import "./styles/recipes.css"
import "./styles/components.css"
import "./styles/controls.css"
import "./styles/fleet.css"
import { mount } from "svelte"
import App from "./App.svelte"
import { branding } from "./state/Brand.svelte.ts"
import { link } from "./state/Link.svelte.ts"
import { locale } from "./state/Locale.svelte.ts"
import { router } from "./state/Router.svelte.ts"
import { session } from "./state/Session.svelte.ts"
import { theme } from "./state/Theme.svelte.ts"

router.start()
theme.start()
link.start()
session.start()
void branding.start()
await locale.start()

const target = document.getElementById("app")
if (target === null) throw new Error("The page has no element #app.")
mount(App, { target })
